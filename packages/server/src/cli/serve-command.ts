// `tallystick serve`: runs the service until SIGTERM or SIGINT.

import { flushCompileCache } from "node:module"
import { setFlagsFromString } from "node:v8"
import { systemClock } from "../clock.ts"
import { anyAddress, type Environment } from "../config.ts"
import { checkPlaces, isInData } from "../operator/check-places.ts"
import { keepSecrets, rootKeyPath } from "../operator/secret-files.ts"
import { createLog } from "../log.ts"
import { serve, type Running, type ServeOptions } from "../serve.ts"
import { greet } from "./greeting.ts"
import { openLogOutput } from "./log-output.ts"
import { configOf } from "./terminal.ts"

export interface ServeCommand {
  readonly environment: Environment
  readonly version: string
  /** On empty data, makes a workspace `demo` with a key, and prints how to write a first event. */
  readonly demo: boolean
  readonly exit: (code: number) => void
  readonly faults?: Pick<ServeOptions, "wrapStore" | "same"> & {
    readonly createLog?: typeof createLog
  }
}

/** If a stop takes longer, the process ends with code 1. */
const stopWithinMs = 10_000

export async function runServe({
  environment,
  version,
  demo,
  exit,
  faults = {},
}: ServeCommand): Promise<Running> {
  const config = configOf({ environment })
  checkPlaces(config)
  const secrets = await keepSecrets(config)
  const known = [secrets.secret, secrets.previous].filter((one) => one !== undefined)
  const rootKeys = [secrets.rootKey, secrets.previousRootKey].filter((one) => one !== undefined)
  const forms = known.flatMap((one) =>
    (["hex", "base64", "base64url"] as const).map((form) => Buffer.from(one).toString(form)),
  )
  const lines = openLogOutput(2, systemClock, (lost) =>
    log.warn({ lines: lost }, "lines of this log were lost: their reader was too slow"),
  )
  const { createLog: makeLog = createLog, ...planted } = faults
  const log = makeLog(config.logLevel, [...rootKeys, ...forms], (line) => lines.write(line))
  if (isInData(config.data, config.heads))
    log.warn(
      { heads: config.heads },
      "the heads file is in the data folder, so an old copy of the data is not noticed: move it, and set TALLYSTICK_HEADS",
    )
  if (config.publicUrl === undefined && config.host in anyAddress)
    log.warn(
      `the names of ledgers contain ${config.host} for ever, and addresses in answers lead nowhere: set TALLYSTICK_PUBLIC_URL before you make the first workspace`,
    )
  const greeting = openLogOutput(1, systemClock, () => {})
  const end = (code: number) =>
    void Promise.all([greeting.written(), lines.written()]).then(() => exit(code))
  const onFatal = (cause: Error) => {
    log.fatal(
      { err: cause },
      "storage cannot be trusted any more; the process ends, and the next start checks the data",
    )
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
  // The signal handlers must be set by now, because a reader of the greeting may stop the process
  // at once.
  await greet(running, {
    demo,
    rootKeyPath: config.rootKey === undefined ? rootKeyPath(config) : undefined,
    say: (text) => greeting.write(text),
  })
  log.info({ url: running.url, data: config.data, version }, "listening")
  // Node writes its compile cache at exit, and a killed process has no exit.
  flushCompileCache()
  // Most requests that wait for a commit are alive during a young collection. V8 would therefore
  // allocate later ones in the old generation, where they and everything that they reference wait
  // for a full collection. The flag is not set earlier, because V8 rejects its code cache, also
  // that of Node itself, if the flags differ.
  setFlagsFromString("--no-allocation-site-pretenuring")
  return running
}
