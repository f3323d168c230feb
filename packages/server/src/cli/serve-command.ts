// `tallystick serve`: runs the service until it is told to stop.

import { readFileSync, writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { setFlagsFromString } from "node:v8"
import { systemClock } from "../clock.ts"
import { readConfig } from "../config.ts"
import { keepSecrets } from "../operator/secret-files.ts"
import { createLog } from "../log.ts"
import { serve, type Running, type ServeOptions } from "../serve.ts"
import { greet } from "./greeting.ts"
import { openLines } from "./log-output.ts"

export interface ServeCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  /** On empty data, makes a workspace `demo` with a key, and says how to write a first event. */
  readonly demo: boolean
  /** Ends the process. */
  readonly exit: (code: number) => void
  readonly faults?: Pick<ServeOptions, "wrapStore" | "same"> & { readonly createLog?: typeof createLog }
}

/** A stop that takes longer than this is not waited for. */
const stopWithinMs = 10_000

export async function runServe({ environment, version, demo, exit, faults = {} }: ServeCommand): Promise<Running> {
  // What the service makes, its databases first, is for its own account to read.
  process.umask(0o077)
  const config = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const secrets = keepSecrets(config)
  const known = [secrets.secret, secrets.previous].filter((one) => one !== undefined)
  const rootKeys = [secrets.rootKey, secrets.previousRootKey].filter((one) => one !== undefined)
  const forms = known.flatMap((one) => (["hex", "base64", "base64url"] as const).map((form) => Buffer.from(one).toString(form)))
  const lines = openLines(2, systemClock, (lost) => log.warn({ lines: lost }, "lines of this log were lost: nobody took them in time"))
  const { createLog: makeLog = createLog, ...planted } = faults
  const log = makeLog(config.logLevel, [...rootKeys, ...forms], (line) => lines.write(line))
  const end = (code: number) => void lines.written().then(() => exit(code))
  const onFatal = (cause: Error) => {
    log.fatal({ err: cause }, "storage cannot be trusted any more; the process ends, and a new one will look at what is there")
    end(1)
  }
  const running = await serve(config, secrets, { log, version, onFatal, ...planted })
  let stopping = false
  const stop = (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, "stopping")
    void systemClock.sleep(stopWithinMs).then(() => end(1))
    running.close().then(
      () => end(0),
      (error: unknown) => {
        log.error({ err: error }, "stopping failed")
        end(1)
      },
    )
  }
  process.once("SIGTERM", stop)
  process.once("SIGINT", stop)
  // Whoever has read that it listens may stop it.
  await greet(running, { demo, newRootKeyPath: secrets.newRootKeyPath, say: (text) => writeSync(1, text) })
  log.info({ url: running.url, data: config.data, version }, "listening")
  // What a request leaves behind is soon garbage, but V8 would let it quadruple the heap before it looks: a quarter more is plenty. Only now,
  // because what a start makes stays. Not --max-semi-space-size: this thread has 32 MiB anyway, and the others would have as much.
  setFlagsFromString("--heap-growing-percent=25")
  // Node would write down at the end what it has compiled, and a process that is killed has no end.
  flushCompileCache()
  return running
}
