// `tallystick doctor`: checks everything that the service depends on, and says what is wrong and
// what to do. It changes nothing: it removes the test file that it writes into the data folder. The
// service may run.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
  type Stats,
} from "node:fs"
import { join } from "node:path"
import { createFrontier, equalBytes, eventHash, recordBytes } from "@tallystick/proof"
import { isInData } from "../operator/check-places.ts"
import { allWorkspaces, endsBefore, missingOf } from "../operator/check-store.ts"
import { isoTime, systemClock } from "../clock.ts"
import { ConfigError, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { knownSecrets } from "../operator/secret-files.ts"
import type { Keyring } from "../secrets/keyring.ts"
import { recheck } from "../ledger/recheck.ts"
import { sha256 } from "../runtime/sha256.ts"
import { epochsOf } from "../store/epochs.ts"
import { readHeads } from "../store/heads.ts"
import { isSealedBy } from "../store/log-keys.ts"
import { closing } from "../runtime/closing.ts"
import type { Snapshot } from "../store/offline.ts"
import { checkServer, openSnapshot } from "../store/open-offline.ts"
import type { Workspace } from "../store/documents.ts"
import { openKeyring, type GivenSecrets } from "../workspace/stored-keyring.ts"
import { addressOf } from "./service-calls.ts"
import { configOf, counted, type Terminal } from "./terminal.ts"

interface Verdict {
  readonly state: "ok" | "warn" | "bad"
  readonly found: string
  readonly advice?: string
}

interface CheckResult extends Verdict {
  readonly name: string
}

/** Returns the exit code: 1 if anything is bad. */
export async function runDoctor(terminal: Terminal, json: boolean): Promise<number> {
  const results = await checkAll(terminal)
  terminal.say(json ? `${JSON.stringify(results, null, 2)}\n` : results.map(lineOf).join(""))
  return results.some(({ state }) => state === "bad") ? 1 : 0
}

async function checkAll(terminal: Terminal): Promise<readonly CheckResult[]> {
  const versions = [...(await check("node", checkNode)), ...(await check("sqlite", checkSqlite))]
  const config = triedConfig(terminal)
  if ("state" in config) return [...versions, { name: "configuration", ...config }]
  return [
    ...versions,
    ...(await check("configuration", () => checkAddress(config))),
    ...(await check("data", () => checkFolder(config))),
    ...(config.databaseUrl === undefined
      ? await check("disk", () => checkDisk(config))
      : await check("database", () => checkDatabase(config))),
    ...(await check("ledger", () => checkLedger(config))),
    ...(await check("time service", checkTimeService)),
    ...(await check("service", () => checkService(config))),
  ]
}

/** Runs a check, which may consist of others. A check that throws is bad; the others still run. */
async function check(
  name: string,
  act: () => Verdict | readonly CheckResult[] | Promise<Verdict | readonly CheckResult[]>,
): Promise<readonly CheckResult[]> {
  try {
    const found = await act()
    return "state" in found ? [{ name, ...found }] : found
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return [{ name, ...bad(message, "check the file, its owner, and its disk") }]
  }
}

/** Undefined if nothing is there. Throws if a permission is missing. */
function statsOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

const ok = (found: string): Verdict => ({ state: "ok", found })
const warn = (found: string, advice: string): Verdict => ({ state: "warn", found, advice })
const bad = (found: string, advice: string): Verdict => ({ state: "bad", found, advice })

// Node and SQLite ---------------------------------------------------------------------------------

const oldestNode = "24.15.0"
const oldestSqlite = "3.51.3"

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

function isAtLeast(version: string, oldest: string): boolean {
  return oldest.localeCompare(version, "en", { numeric: true }) <= 0
}

// Configuration and files -------------------------------------------------------------------------

function triedConfig(terminal: Terminal): Config | Verdict {
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
    : privacyOf(heads, stats, "600")
}

function privacyOf(path: string, { mode: bits, uid }: Stats, mode: string): Verdict {
  const shownMode = (bits & 0o777).toString(8)
  const own = process.getuid?.()
  if (own !== undefined && own !== 0 && uid !== own)
    return bad(
      `${path} belongs to another account (${uid})`,
      `run this command and the service as its owner, or: chown -R ${own} ${path}`,
    )
  return (bits & 0o077) === 0
    ? ok(`${path}, mode ${shownMode}`)
    : bad(`${path} is open to other accounts, mode ${shownMode}`, `chmod ${mode} ${path}`)
}

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
    const file = openSync(path, "wx", 0o600)
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
    return error instanceof Error ? error.message : String(error)
  }
}

// The database ------------------------------------------------------------------------------------

async function checkDatabase(config: Config): Promise<Verdict> {
  const found = await checkServer(config)
  return found.isReadOnly
    ? bad(
        `PostgreSQL ${found.version} takes no writes, as a standby does`,
        "promote it, or set TALLYSTICK_DATABASE_URL to the server that takes them",
      )
    : ok(`PostgreSQL ${found.version}, with the settings that keep what was acknowledged`)
}

// The ledger --------------------------------------------------------------------------------------

async function checkLedger(config: Config): Promise<Verdict | readonly CheckResult[]> {
  const { data, databaseUrl, heads } = config
  if (databaseUrl === undefined && statsOf(join(data, "journal.db")) === undefined) {
    if ((await readHeads(heads)).size === 0)
      return warn(`${data} holds no ledger`, "the first start creates one")
    return bad(
      `${data} holds no ledger, and ${heads} says that something was signed`,
      "check that the disk with the data is mounted, and put the data back; to start over, remove that file",
    )
  }
  await using snapshot = closing(await openSnapshot(config))
  const workspaces = await allWorkspaces(snapshot.registry)
  return [
    ...(await check("keys", () => checkKeys(config, snapshot, workspaces))),
    ...(await check("chains", () => checkChains(config, snapshot, workspaces))),
    ...(await check("checkpoints", () => checkHeads(config, snapshot, workspaces))),
    ...(await check("clock", () => checkClock(snapshot, workspaces))),
  ]
}

/** The secret must open the newest key of every workspace, or nothing can be signed. */
async function checkKeys(
  config: Config,
  { registry }: Snapshot,
  workspaces: readonly Workspace[],
): Promise<Verdict> {
  const { secret, previous } = knownSecrets(config)
  const advice =
    "bring the secret back that this data was made with: without it the service cannot sign and knows no key"
  if (secret === undefined)
    return bad(
      `TALLYSTICK_SECRET is not set, and there is no ${join(config.data, "secret")}`,
      advice,
    )
  const keyring = await keyringOf(registry, { secret, previous })
  if (keyring instanceof StartError) return bad(keyring.message, advice)
  for (const { id } of workspaces) {
    const [newest] = await registry.list("log-key", id, undefined, 1)
    if (newest === undefined)
      return bad(`workspace ${id} has no key to sign with`, "restore a backup")
    if (!isSealedBy(keyring)(newest.value))
      return bad(`the secret does not open the signing key of workspace ${id}`, advice)
  }
  const found = `the secret opens the signing keys of ${counted(workspaces.length, "workspace")}`
  return keyring.before === undefined
    ? ok(found)
    : warn(
        `${found}, and its rotation is not finished`,
        "stop the service, and run `tallystick secret rotate` again to finish",
      )
}

async function keyringOf(
  registry: Snapshot["registry"],
  secrets: GivenSecrets,
): Promise<Keyring | StartError> {
  try {
    return await openKeyring(registry, secrets)
  } catch (error) {
    if (error instanceof StartError) return error
    throw error
  }
}

async function checkChains(
  { limits }: Config,
  snapshot: Snapshot,
  workspaces: readonly Workspace[],
): Promise<Verdict> {
  for (const workspace of workspaces) {
    const wrong = await recheck(snapshot, workspace, limits.recheckEntries)
    if (wrong !== undefined)
      return bad(wrong, "stop the service, keep this data unchanged, and restore a backup")
  }
  return ok(
    `the last ${limits.recheckEntries} entries of ${counted(workspaces.length, "workspace")} pass their integrity check`,
  )
}

async function checkHeads(
  { heads: path }: Config,
  { journal }: Snapshot,
  workspaces: readonly Workspace[],
): Promise<Verdict> {
  const heads = await readHeads(path)
  let signed = 0
  let hashed = 0
  for (const workspace of workspaces) {
    const [{ origin, before }] = epochsOf(workspace)
    const { id } = workspace
    const head = heads.get(origin)
    const entries = (await journal.head(id))?.sequence ?? 0
    if (head === undefined) continue
    const lost = endsBefore(id, entries, before + head.size)
    if (lost !== undefined)
      return bad(
        lost,
        "this data is older than what was signed: put the newer data back; if it is lost, tallystick resume continues from here in a new epoch",
      )
    signed += 1
    if (head.size > hashedEntriesMax) continue
    hashed += 1
    if (!equalBytes(await rootOf(journal, id, before, head.size), head.root))
      return bad(
        `entries ${before + 1} to ${before + head.size} of workspace ${id} are not those that were signed`,
        "stop the service, keep this data unchanged, and run tallystick fsck",
      )
  }
  const missing = missingOf(heads, workspaces)
  if (missing.length > 0)
    return (workspaces.length === 0 ? bad : warn)(
      `${path} has ${counted(missing.length, "ledger")} that ${missing.length === 1 ? "is" : "are"} not here: ${missing.slice(0, 3).join(", ")}`,
      "if this is the wrong disk or part of the data is missing, put it back; if you gave these ledgers up, remove their lines from that file",
    )
  const by =
    hashed === signed ? "" : `; ${signed - hashed} were only counted: tallystick fsck hashes them`
  return ok(
    `nothing that was signed is missing: ${signed} of ${counted(workspaces.length, "workspace")}${by}`,
  )
}

/** For one workspace. Hashing them takes some tenths of a second. */
const hashedEntriesMax = 100_000
const recordsPerRead = 4096

/**
 * Root of the tree over the first `size` records of an epoch, or over fewer if the data ends
 * earlier.
 */
async function rootOf(
  journal: Snapshot["journal"],
  workspace: string,
  before: number,
  size: number,
): Promise<Uint8Array> {
  const tree = createFrontier(undefined, sha256)
  while (tree.size < size) {
    const records = await journal.records(
      workspace,
      before + tree.size + 1,
      Math.min(recordsPerRead, size - tree.size),
    )
    for (let at = 0; at < records.length; at += recordBytes)
      tree.append(eventHash(records.subarray(at, at + recordBytes), sha256))
    if (records.length === 0) break
  }
  return tree.root()
}

const clockBackMs = 1000

async function checkClock(
  { journal }: Snapshot,
  workspaces: readonly Workspace[],
): Promise<Verdict> {
  const nowMs = systemClock.now()
  let lastMs = 0
  for (const { id } of workspaces) lastMs = Math.max(lastMs, (await journal.head(id))?.timeMs ?? 0)
  if (lastMs > nowMs + clockBackMs)
    return bad(
      `the clock says ${isoTime(nowMs)}, and the last entry was recorded at ${isoTime(lastMs)}`,
      "set the clock right; until it passes that time, every entry gets that time",
    )
  return ok(lastMs === 0 ? "nothing was recorded yet" : `after the last entry, ${isoTime(lastMs)}`)
}

/**
 * systemd-timesyncd makes this file when it has set the clock. Other time services have no sign
 * that is as cheap to check.
 */
const synchronised = "/run/systemd/timesync/synchronized"

function checkTimeService(): Verdict {
  return existsSync(synchronised)
    ? ok("the clock was set by systemd-timesyncd")
    : warn(
        "cannot see whether anything keeps the clock right",
        "check that NTP runs, such as chrony: entries carry this clock's time",
      )
}

// The service -------------------------------------------------------------------------------------

const answersWithinMs = 5000

async function checkService(config: Config): Promise<Verdict> {
  if (config.port === 0)
    return warn("not checked: TALLYSTICK_PORT is 0", "request its /readyz yourself")
  const url = addressOf(config)
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answersWithinMs) })
    if (answer.status === 200) return ok(`ready at ${url}`)
    return bad(
      `${url}/readyz answers ${answer.status}: ${(await answer.text()).slice(0, 200)}`,
      "do what it says",
    )
  } catch {
    return warn(`nothing answers at ${url}`, "if it should run, start it: tallystick serve")
  }
}

// Output ------------------------------------------------------------------------------------------

const nameColumns = 14

function lineOf({ name, state, found, advice }: CheckResult): string {
  const line = `${state.padEnd(4)}  ${name.padEnd(nameColumns)} ${found}\n`
  return advice === undefined ? line : `${line}${" ".repeat(nameColumns + 7)}→ ${advice}\n`
}
