import { spawn } from "node:child_process"
import { join } from "node:path"

// The program under test, and commands of it that run to their end.

/** `npm test` bundles the program, so that a start is cheap; without it the sources run. */
const bundle = process.env["BUNDLED_PROGRAM"]
const root = join(import.meta.dirname, "..")

function placeOf(bundled: string, source: string): string {
  return bundle === undefined ? join(root, source) : join(bundle, bundled)
}

export const program = placeOf("bin/tallystick.mjs", "packages/server/bin/tallystick.mjs")
/** Takes the name of a planted fault: test/crash/faults.ts. */
export const faultyProgram = placeOf("lib/faults.js", "test/crash/faults.ts")
/** `tallystick secret rotate` with a kill in it: test/crash/rotate-killed.ts. */
export const killedRotation = placeOf("lib/rotate-killed.js", "test/crash/rotate-killed.ts")

/** Halves the time of a start from the sources. */
export const compileCache = join(root, "node_modules", ".cache", "tests")

export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

export interface Run {
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  readonly uid?: number
  readonly killAfterMs?: number
  /** Standard input; empty without it. */
  readonly input?: string | Uint8Array
}

/**
 * Runs a command of the product to its end. Its environment is PATH and what is given. It runs in
 * this folder, because the clone's own may have data of `npm start`.
 */
export function tallystick(
  args: readonly string[],
  environment: Run["environment"] = {},
  options: Run & { readonly by?: string } = {},
): Promise<Ended> {
  const { by = program, ...rest } = options
  return run(process.execPath, [by, ...args], {
    cwd: import.meta.dirname,
    ...rest,
    environment: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: compileCache, ...environment },
  })
}

/** Runs any command to its end; it is killed if it takes too long. */
export function run(
  command: string,
  args: readonly string[],
  { environment = process.env, killAfterMs = 60_000, input, ...options }: Run = {},
): Promise<Ended> {
  const child = spawn(command, args, {
    ...options,
    env: environment,
    stdio: "pipe",
    timeout: killAfterMs,
    killSignal: "SIGKILL",
  })
  // A command that does not read it closes it.
  child.stdin.on("error", () => {}).end(input)
  const said = { output: "", errors: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.output += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.errors += text))
  return new Promise((resolve, reject) =>
    child.once("error", reject).once("close", (code) => resolve({ code, ...said })),
  )
}
