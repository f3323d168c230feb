import { spawn } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

// Runs a scenario of this folder again, in its own process, with a module loaded first that changes
// how it sends or what it starts, or with other settings.

export interface RanAgain {
  readonly code: number | null
  readonly said: string
}

export interface Changed {
  /** A module of this folder. */
  readonly loaded?: string
  readonly settings?: Readonly<Record<string, string>>
  /** Only the tests with such a name. */
  readonly tests?: string
}

/** Less than a file may take. */
const runsWithinMs = 500_000

/** May begin with another folder. */
export async function runAgain(
  name: string,
  { loaded, settings = {}, tests }: Changed,
): Promise<RanAgain> {
  const folder = import.meta.dirname
  // Otherwise the child would count as a part of this run and not report its failures.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const child = spawn(
    process.execPath,
    [
      "--test-reporter=spec",
      // As scripts/test.mjs runs it.
      "--v8-pool-size=0",
      ...(tests === undefined ? [] : [`--test-name-pattern=${tests}`]),
      ...(loaded === undefined ? [] : [`--import=${pathToFileURL(folder).href}/${loaded}`]),
      join(folder, `${name}.test.ts`),
    ],
    {
      env: { ...environment, ...settings },
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
