// The programs of a benchmark, each a process of its own.

import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { sampleOf } from "../metrics.ts"
import type { ByHand } from "./by-hand.ts"
import type { FsckMeasured } from "./fsck.ts"
import type { Load, Measured } from "./load.ts"

const here = import.meta.dirname
const root = join(here, "..", "..")

export interface Program {
  readonly url: string
  readonly child: ChildProcess
  readonly startedMs: number
  /** Resident memory now, in megabytes. */
  residentMb(): number
  /** Processor time of all its threads so far. */
  cpuMs(): number
  /**
   * Processor time of the filing thread, the one with the lowest priority; undefined if the system
   * does not say.
   */
  filingMs(): number | undefined
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>
}

export const rootKey = "root-key-of-the-benchmark-0123456789"

export function startBare(): Promise<Program> {
  return start([join(here, "bare.ts")], {})
}

/** The program of this checkout, or of the one in that folder, bundled and run as the image runs it. */
export async function startService(
  data: string,
  flags: readonly string[] = [],
  checkout = root,
  environment: Record<string, string> = {},
): Promise<Program> {
  const program = await programOf(checkout)
  return start(["--v8-pool-size=0", ...flags, program, "serve"], {
    ...environment,
    MALLOC_ARENA_MAX: "2",
    TALLYSTICK_DATA: data,
    TALLYSTICK_PORT: "0",
    TALLYSTICK_ROOT_KEY: rootKey,
  })
}

async function programOf(checkout: string): Promise<string> {
  const { bundleProgram } = (await import(join(checkout, "scripts", "bundle.mjs"))) as {
    readonly bundleProgram: (cache: string) => Promise<string>
  }
  const bundle = await bundleProgram(join(checkout, "node_modules", ".cache", "bench"))
  return join(bundle, "bin", "tallystick.mjs")
}

async function start(
  args: readonly string[],
  environment: Record<string, string>,
): Promise<Program> {
  const startMs = performance.now()
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let said = ""
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString()
      const [found] = /http:\/\/[0-9.:]+/.exec(said) ?? []
      if (found !== undefined && said.includes("\n")) resolve(found)
    })
    child.once("exit", () =>
      reject(new Error("a program of the benchmark ended before it listened")),
    )
  })
  return {
    url,
    child,
    startedMs: performance.now() - startMs,
    residentMb: () =>
      Number(
        /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0,
      ) / 1024,
    cpuMs: () => spentMs(statOf(`/proc/${child.pid}`)),
    filingMs: () => niceThreadMs(child.pid ?? 0),
    async stop(signal = "SIGTERM") {
      const ended = new Promise((resolve) => child.once("exit", resolve))
      child.kill(signal)
      await ended
    },
  }
}

function niceThreadMs(pid: number): number | undefined {
  const tasks = `/proc/${pid}/task`
  if (!existsSync(tasks)) return undefined
  for (const task of readdirSync(tasks)) {
    const fields = statOf(`${tasks}/${task}`)
    if (Number(fields[16]) >= 10) return spentMs(fields)
  }
  return undefined
}

/** Processor time of a program, and of its children that have ended. */
export function cpuMsWithChildren(pid: number): number {
  const fields = statOf(`/proc/${pid}`)
  return spentMs(fields) + (Number(fields[13]) + Number(fields[14])) * 10
}

/** What follows the name, which may hold anything: the state, and then numbers. */
function statOf(task: string): readonly string[] {
  const stat = readFileSync(`${task}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

/** User and system time, which are in hundredths of a second. */
function spentMs(fields: readonly string[]): number {
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Runs the load generator in a process of its own. The load ends earlier if it is aborted. */
export async function runLoad(load: Load, abort?: AbortSignal): Promise<Measured> {
  // The generator says one line, a Measured.
  return JSON.parse(await said("load.ts", [JSON.stringify(load)], abort)) as Measured
}

/** Runs by-hand.ts in the same way; returns events a second. */
export async function runByHand(given: ByHand): Promise<number> {
  return Number(await said("by-hand.ts", [JSON.stringify(given)]))
}

/** Runs fsck.ts in the same way. */
export async function runFsck(data: string, pass: string): Promise<FsckMeasured> {
  return JSON.parse(await said("fsck.ts", [data, pass])) as FsckMeasured
}

async function said(
  program: string,
  given: readonly string[],
  abort?: AbortSignal,
): Promise<string> {
  const child = spawn(process.execPath, [join(here, program), ...given], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  abort?.addEventListener("abort", () => child.kill("SIGTERM"))
  return await text(child.stdout)
}

/** One metric of a service, by its name and labels. */
export async function metric(url: string, name: string): Promise<number> {
  return sampleOf(await (await fetch(`${url}/metrics`)).text(), name)
}

/** How long a metric must be still to be settled. */
export const stillMs = 4000

/** When a metric has not changed for a while. */
export async function settled({ url }: Program, name: string): Promise<void> {
  let last = await metric(url, name)
  for (let sinceMs = performance.now(); performance.now() - sinceMs < stillMs;) {
    await sleep(100)
    const now = await metric(url, name)
    if (now !== last) sinceMs = performance.now()
    last = now
  }
}

/** A workspace with a key that may write and read. */
export async function makeWriter(url: string, workspace: string): Promise<Load["writers"][number]> {
  await ask(url, "POST", "/v1/workspaces", { id: workspace })
  const { key } = (await ask(url, "POST", `/v1/workspaces/${workspace}/api-keys`, {
    name: "bench",
    scopes: ["write", "read"],
  })) as {
    key: string
  }
  return { workspace, key }
}

async function ask(url: string, method: string, path: string, body: object): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  if (!response.ok)
    throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
  return response.json()
}
