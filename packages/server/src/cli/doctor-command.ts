// `tallystick doctor`: checks everything that the service depends on, and says what is wrong and
// what to do. It changes nothing: it removes the test files that it writes into the folders of the
// data and the archive. The service may run.

import {
  closeSync,
  fsyncSync,
  openSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
  type Stats,
} from "node:fs"
import { join } from "node:path"
import { isObject, parseJson } from "@tallystick/proof"
import { isInData, statsOf } from "../operator/check-places.ts"
import { systemClock } from "../clock.ts"
import { ConfigError, urlOf, type Config } from "../config.ts"
import { detailOf } from "../error.ts"
import { openArchive } from "../store/archive/open-archive.ts"
import { checkServer, type CheckedServer } from "../store/open-offline.ts"
import { isAtLeast, oldestSqlite } from "../store/sqlite/database.ts"
import { isLocked } from "../store/sqlite/lock.ts"
import { addressOf, type AskingTerminal } from "./service-calls.ts"
import { configOf, jsonText } from "./terminal.ts"
import {
  archiveAdvice,
  bad,
  check,
  ok,
  warn,
  type CheckResult,
  type Verdict,
} from "./doctor-verdict.ts"
import { checkLedger } from "./doctor-ledger.ts"

/** Returns the exit code: 1 if anything is bad. */
export async function runDoctor(terminal: AskingTerminal, json: boolean): Promise<number> {
  const results = await checkAll(terminal)
  terminal.say(json ? jsonText(results) : results.map(lineOf).join(""))
  return results.some(({ state }) => state === "bad") ? 1 : 0
}

async function checkAll(terminal: AskingTerminal): Promise<readonly CheckResult[]> {
  const versions = [...(await check("node", checkNode)), ...(await check("sqlite", checkSqlite))]
  const config = triedConfig(terminal)
  if ("state" in config) return [...versions, { name: "configuration", ...config }]
  return [
    ...versions,
    ...(await check("configuration", () => checkAddress(config))),
    ...(await check("data", () => checkFolder(config))),
    ...(await check("archive", () => checkArchive(config))),
    ...(config.databaseUrl === undefined
      ? [...(await check("disk", () => checkDisk(config))), ...(await checkedLedger(config))]
      : await checkDatabase(config)),
    ...(await check("service", () => checkService(config, terminal.url))),
  ]
}

// Node and SQLite ---------------------------------------------------------------------------------

const oldestNode = "24.15.0"

function checkNode(): Verdict {
  const { node } = process.versions
  return isAtLeast(node, oldestNode) ? ok(node) : bad(node, `install Node ${oldestNode} or later`)
}

function checkSqlite(): Verdict {
  const version = process.versions["sqlite"] ?? "none"
  return isAtLeast(version, oldestSqlite)
    ? ok(version)
    : bad(
        version,
        `install a Node that has SQLite ${oldestSqlite} or later: in older versions, a checkpoint during a write can damage a file`,
      )
}

// Configuration and files -------------------------------------------------------------------------

function triedConfig(terminal: AskingTerminal): Config | Verdict {
  try {
    return configOf(terminal)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return bad(
      error.message,
      "correct it, or remove it from the environment; nothing else was checked",
    )
  }
}

function checkAddress({ host, publicUrl, trustProxy }: Config): Verdict {
  const isOpen = !["127.0.0.1", "::1", "localhost"].includes(host)
  if (isOpen && publicUrl?.startsWith("https:") !== true)
    return warn(
      `listens on ${host}, without TLS`,
      "put TLS in front of it, and set TALLYSTICK_PUBLIC_URL to its https address",
    )
  if (trustProxy === true && isOpen)
    return warn(
      "trusts X-Forwarded-For from every address",
      "set TALLYSTICK_TRUST_PROXY to the proxy's address: now every client can claim another address",
    )
  return ok(`${publicUrl ?? "no public address"}, listening on ${host}`)
}

async function checkFolder({
  data,
  databaseUrl,
  heads,
}: Config): Promise<Verdict | readonly CheckResult[]> {
  const folder = statsOf(data)
  if (folder === undefined && databaseUrl !== undefined)
    return ok(`${data} does not exist, and is not needed if both secrets are configured`)
  if (folder === undefined)
    return warn(
      `${data} does not exist yet`,
      "the first start creates it; if the ledger existed before, TALLYSTICK_DATA is wrong",
    )
  if (!folder.isDirectory())
    return bad(`${data} is not a folder`, "set TALLYSTICK_DATA to the ledger's folder")
  if (isForeign(folder)) return privacyOf(data, folder, "700")
  const secrets = ["secret", "root-key"].filter((name) => statsOf(join(data, name)) !== undefined)
  return [
    { name: "data", ...privacyOf(data, folder, "700") },
    ...secrets.map((name) => {
      const path = join(data, name)
      return { name, ...privacyOf(path, statSync(path), "600") }
    }),
    { name: "heads", ...checkHeadsFile(data, heads) },
  ]
}

function checkHeadsFile(data: string, heads: string): Verdict {
  if (isInData(data, heads))
    return warn(
      `${heads} is in the data folder`,
      "move it elsewhere (TALLYSTICK_HEADS): a copy of the data that includes it is not detected",
    )
  const stats = statsOf(heads)
  return stats === undefined
    ? warn(
        "there is no heads file yet",
        "the first start creates it; if it existed before, TALLYSTICK_HEADS is wrong: put the file back",
      )
    : headsPrivacyOf(heads, stats)
}

/** It holds no secret, and who makes an empty one by hand makes it with the usual mode. */
function headsPrivacyOf(path: string, stats: Stats): Verdict {
  return !isForeign(stats) && (stats.mode & 0o077) !== 0 && (stats.mode & 0o022) === 0
    ? warn(`${path} can be read by other accounts, mode ${modeOf(stats)}`, `chmod 600 ${path}`)
    : privacyOf(path, stats, "600")
}

function privacyOf(path: string, stats: Stats, mode: string): Verdict {
  if (isForeign(stats))
    return bad(
      `${path} belongs to another account (${stats.uid})`,
      `run this command and the service as its owner, or: chown -R ${process.getuid?.()} ${path}`,
    )
  return (stats.mode & 0o077) === 0
    ? ok(`${path}, mode ${modeOf(stats)}`)
    : bad(`${path} is open to other accounts, mode ${modeOf(stats)}`, `chmod ${mode} ${path}`)
}

function isForeign({ uid }: Stats): boolean {
  const own = process.getuid?.()
  return own !== undefined && own !== 0 && uid !== own
}

const modeOf = ({ mode }: Stats): string => (mode & 0o777).toString(8)

// The disk ----------------------------------------------------------------------------------------

/** Below this many times the reserve, an operator must act soon. */
const roomyReserves = 16
const slowSyncMs = 100

function checkDisk({ data, limits }: Config): Verdict {
  if (statsOf(data)?.isDirectory() !== true) return ok("not checked: there is no data folder")
  const { bavail, bsize } = statfsSync(data)
  const free = bavail * bsize
  const shownFree = `${Math.floor(free / 2 ** 20)} MiB free`
  if (free <= limits.diskReserveBytes)
    return bad(shownFree, "free some space: the service refuses writes, and still answers reads")
  const syncMs = trySync(join(data, `doctor.${process.pid}`))
  if (typeof syncMs === "string")
    return bad(
      `cannot write: ${syncMs}`,
      "look at the disk, its mount, and the owner of the folder",
    )
  const found = `${shownFree}, a sync takes ${syncMs.toFixed(1)} ms`
  if (free < roomyReserves * limits.diskReserveBytes)
    return warn(
      found,
      `free some space: at ${limits.diskReserveBytes} bytes the service refuses writes`,
    )
  return syncMs > slowSyncMs
    ? warn(found, "every commit waits for a sync; a local SSD takes a few milliseconds")
    : ok(found)
}

/** Returns the milliseconds that a sync took, or the error of the system. */
function trySync(path: string): number | string {
  try {
    // A killed one may have left a file of this name: process numbers repeat, in containers soon.
    const file = openSync(path, "w", 0o600)
    try {
      const beganMs = systemClock.elapsed()
      writeSync(file, "tallystick doctor was here\n")
      fsyncSync(file)
      return systemClock.elapsed() - beganMs
    } finally {
      closeSync(file)
      unlinkSync(path)
    }
  } catch (error) {
    return detailOf(error)
  }
}

// The archive -------------------------------------------------------------------------------------

async function checkArchive({ archive, archives }: Config): Promise<Verdict> {
  if (!archives)
    return ok("none: with a database nothing is archived until TALLYSTICK_ARCHIVE is set")
  if (archive.kind === "folder") {
    if (statsOf(archive.path) === undefined) return ok(`${archive.path} is made when it is needed`)
    const tried = trySync(join(archive.path, `doctor.${process.pid}`))
    return typeof tried === "string"
      ? bad(`cannot write: ${tried}`, archiveAdvice)
      : ok(`${archive.path} can be written`)
  }
  const storage = openArchive(archive, systemClock)
  try {
    // The first page of its list. Writing is not tried: a locked object could not be removed.
    for await (const _ of storage.list("")) break
    return ok(`${storage.name} can be listed`)
  } catch (error) {
    return bad(detailOf(error), archiveAdvice)
  } finally {
    storage.close()
  }
}

// The database ------------------------------------------------------------------------------------

/** A ledger whose database cannot be used is not checked: it would have the same fault. */
async function checkDatabase(config: Config): Promise<readonly CheckResult[]> {
  const server = await checkServer(config).catch(detailOf)
  if (typeof server === "string") {
    const advice = "correct that, or TALLYSTICK_DATABASE_URL; the ledger was not checked"
    return [{ name: "database", ...bad(server, advice) }]
  }
  return [
    { name: "database", ...verdictOf(server) },
    ...(await checkedLedger(config, server.hasLedger)),
  ]
}

function verdictOf({ version, isReadOnly }: CheckedServer): Verdict {
  return isReadOnly
    ? bad(
        `PostgreSQL ${version} takes no writes, as a standby does`,
        "promote it, or set TALLYSTICK_DATABASE_URL to the server that takes them",
      )
    : ok(`PostgreSQL ${version}, with the settings that keep what was acknowledged`)
}

function checkedLedger(config: Config, hasLedger?: boolean): Promise<readonly CheckResult[]> {
  return check("ledger", () => checkLedger(config, hasLedger))
}

// The service -------------------------------------------------------------------------------------

const answersWithinMs = 5000

async function checkService(config: Config, given: string | undefined): Promise<Verdict> {
  if (config.port === 0 && given === undefined)
    return warn(
      "not checked: TALLYSTICK_PORT is 0, so the service chose its port at its start",
      "give its address with --url",
    )
  const url = urlOf(given, "--url") ?? addressOf(config)
  const answer = await readinessOf(url)
  const isUsed = isInUse(config)
  if (typeof answer !== "string") {
    const found = `nothing answers at ${url} (${answer.why})`
    return isUsed
      ? warn(
          `${found}, and ${config.data} is in use`,
          "if the service runs on it, set TALLYSTICK_PORT as for the service, or give its address with --url",
        )
      : warn(
          found,
          "if it should run, start it: tallystick serve; if it runs elsewhere, give its address with --url",
        )
  }
  const ready = readyOf(answer)
  if (ready === undefined)
    return bad(
      `what answers at ${url} is not a Tallystick service`,
      "stop that program, set TALLYSTICK_PORT to the service's port, or give its address with --url",
    )
  if (!ready) return bad(`${url}/readyz answers ${answer.slice(0, 200)}`, "do what it says")
  return isUsed === false
    ? warn(
        `ready at ${url}, and nothing uses ${config.data}`,
        "so it is another service, or TALLYSTICK_DATA is wrong",
      )
    : ok(`ready at ${url}`)
}

/** The answer, or why none came: a certificate may have expired. */
async function readinessOf(url: string): Promise<string | { readonly why: string }> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answersWithinMs) })
    return await answer.text()
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    const code = isObject(cause) ? cause["code"] : undefined
    return { why: typeof code === "string" ? code : detailOf(cause) }
  }
}

/** Undefined if another program answered. */
function readyOf(answer: string): boolean | undefined {
  const value: unknown = parseJson(answer)
  return isObject(value) && typeof value["ready"] === "boolean" ? value["ready"] : undefined
}

/** Undefined if that cannot be seen: the data is in a database, or belongs to another account. */
function isInUse({ data, databaseUrl }: Config): boolean | undefined {
  if (databaseUrl !== undefined) return undefined
  try {
    return statsOf(join(data, "lock")) !== undefined && isLocked(data)
  } catch {
    return undefined
  }
}

// Output ------------------------------------------------------------------------------------------

const nameColumns = 14

function lineOf({ name, state, found, advice }: CheckResult): string {
  const line = `${state.padEnd(4)}  ${name.padEnd(nameColumns)} ${found}\n`
  return advice === undefined ? line : `${line}${" ".repeat(nameColumns + 7)}→ ${advice}\n`
}
