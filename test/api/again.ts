import { spawn } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

// A scenario of this folder once more, in a process of its own, with a module loaded before it that
// changes how it sends or what it starts.

export interface RanAgain {
  readonly code: number | null
  readonly said: string
}

const runsWithinMs = 80_000

export async function runAgain(name: string, loaded: string): Promise<RanAgain> {
  const folder = import.meta.dirname
  // Without this, the child would take itself for a part of this run, and not say what failed.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const child = spawn(
    process.execPath,
    [
      "--test-reporter=spec",
      `--import=${pathToFileURL(folder).href}/${loaded}`,
      join(folder, `${name}.test.ts`),
    ],
    {
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: runsWithinMs,
      killSignal: "SIGTERM",
    },
  )
  let said = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text))
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve))
  return { code, said }
}
