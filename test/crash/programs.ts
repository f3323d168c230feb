import { spawn } from "node:child_process"
import { createServer } from "node:net"
import { join } from "node:path"
import { compileCache, startService, type Service, type ServiceOptions } from "../service.ts"
import type { Fault } from "./faults.ts"

// Services that are started often: from code compiled once, and each data folder on a port of its
// own, so that a receipt, which holds a URL, is the same bytes after a restart.

const productProgram = join(
  import.meta.dirname,
  "..",
  "..",
  "packages",
  "server",
  "bin",
  "tallystick.mjs",
)
export const faultyProgram = join(import.meta.dirname, "faults.ts")
const ports = new Map<string, number>()

/** The product, or the product with a fault in it. */
export async function startProgram(
  { environment, ...options }: ServiceOptions = {},
  fault?: Fault,
): Promise<Service> {
  const port = ports.get(options.data ?? "") ?? (await freePort())
  const planted = fault === undefined ? {} : { program: faultyProgram, arguments: [fault] }
  const settings = { TALLYSTICK_PORT: String(port), ...environment }
  const service = await startService({ ...options, ...planted, environment: settings })
  ports.set(service.data, port)
  return service
}

export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly log: string
}

/**
 * Starts the product where it must not come up, and waits until it has ended; it is killed, if not
 * by itself, after a while.
 */
export function startInVain(
  environment: Readonly<Record<string, string>>,
  killAfterMs = 20_000,
): Promise<Ended> {
  return runProgram(["serve"], { TALLYSTICK_PORT: "0", ...environment }, { killAfterMs })
}

/** Runs a command of the product, or of another program, to its end. */
export function runProgram(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  { program = productProgram, killAfterMs = 60_000 } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: killAfterMs,
    killSignal: "SIGKILL",
  })
  const said = { output: "", log: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.output += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.log += text))
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...said })))
}

/**
 * Below those that systems give to outgoing connections, one of which might take it while the
 * service is down; above 10080, the highest that fetch refuses to ask.
 */
export async function freePort(): Promise<number> {
  const port = 10_081 + Math.floor(Math.random() * 20_000)
  const isFree = await new Promise<boolean>((resolve) => {
    const probe = createServer()
    probe.once("error", () => resolve(false))
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}
