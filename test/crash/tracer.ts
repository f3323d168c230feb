import { spawn, spawnSync } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"

// strace, which can answer a system call in place of the kernel: for a failing disk, or one that
// loses writes.

/** Why nothing can be traced here; undefined when it can. */
export function noTracer(): string | undefined {
  if (process.platform !== "linux" || spawnSync("which", ["strace"]).status !== 0)
    return "strace is not installed"
  const { status } = spawnSync("strace", [
    "-f",
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    "inject=fsync:error=EIO",
    "true",
  ])
  return status === 0 ? undefined : "strace may not trace here"
}

export interface Failing {
  readonly call: string
  readonly error: string
  /** Which of the calls of each thread fail: `3`, or `3+` for all from the third on. */
  readonly when: string
  /** Only calls on these files; all calls if none is named. */
  readonly files: readonly string[]
}

export interface Tracer {
  /** Resolves when the calls succeed again. */
  stop(): Promise<void>
}

/** Has system calls of a running program fail. Resolves when they do. */
export function failCalls(pid: number, { call, error, when, files }: Failing): Promise<Tracer> {
  return trace(pid, call, `error=${error}:when=${when}`, files)
}

/**
 * Makes every sync of these files do nothing and succeed, as `synchronous=NORMAL` does before a
 * power cut.
 */
export function lieAboutSyncs(pid: number, files: readonly string[]): Promise<Tracer> {
  return trace(pid, "fsync,fdatasync", "retval=0", files)
}

/** Has every sync of these files take so much longer. */
export function delaySyncs(
  pid: number,
  seconds: number,
  files: readonly string[],
): Promise<Tracer> {
  return trace(pid, "fsync,fdatasync", `delay_enter=${seconds * 1_000_000}`, files)
}

async function trace(
  pid: number,
  calls: string,
  what: string,
  files: readonly string[],
): Promise<Tracer> {
  const paths = files.flatMap((file) => ["-P", file])
  const args = [
    "-f",
    "-o",
    "/dev/null",
    ...paths,
    "-e",
    `trace=${calls}`,
    "-e",
    `inject=${calls}:${what}`,
    "-p",
    String(pid),
  ]
  const child = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] })
  const kill = (): void => void child.kill("SIGKILL")
  process.once("exit", kill)
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  let said = ""
  await Promise.race([
    new Promise<void>((resolve) =>
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text
        if (/attached/.test(said)) resolve()
      }),
    ),
    ended,
    sleep(5000, undefined, { ref: false }),
  ])
  if (!/attached/.test(said)) {
    kill()
    throw new Error(`strace did not attach: ${said}`)
  }
  return {
    async stop() {
      child.kill("SIGINT")
      await ended
      process.off("exit", kill)
    },
  }
}
