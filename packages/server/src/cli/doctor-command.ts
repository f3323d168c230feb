// `tallystick doctor`: checks everything that the service depends on, and says what is wrong and
// what to do. It changes nothing: the file that it writes into the data folder as a test, it
// removes. The service may run.

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
import { join, relative, resolve } from "node:path"
import { createFrontier, equalBytes, eventHash, recordBytes } from "@tallystick/proof"
import { allWorkspaces, missingOf } from "../operator/check-store.ts"
import { isoTime, systemClock } from "../clock.ts"
import { ConfigError, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { knownSecrets } from "../operator/secret-files.ts"
import type { Keyring } from "../secrets/keyring.ts"
import { recheck } from "../ledger/recheck.ts"
import { sha256 } from "../runtime/sha256.ts"
import { epochsOf } from "../store/epochs.ts"
import { readHeads } from "../store/heads.ts"
import { openSnapshot } from "../store/sqlite/offline.ts"
import type { Document } from "../store/store.ts"
import type { Snapshot } from "../store/sqlite/offline.ts"
import { canSign, openKeyring, type GivenSecrets } from "../workspace/stored-keyring.ts"
import { addressOf } from "./keys-command.ts"
import { configOf, counted, type Terminal } from "./terminal.ts"

interface CheckResult {
  readonly name: string
  readonly state: "ok" | "warn" | "bad"
  readonly found: string
  /** What to do. */
  readonly advice?: string
}

/** Returns the exit code: 1 if anything is bad. */
export async function runDoctor(terminal: Terminal, json: boolean): Promise<number> {
  const looks = await checkAll(terminal)
  terminal.say(json ? `${JSON.stringify(looks, null, 2)}\n` : looks.map(lineOf).join(""))
  return looks.some(({ state }) => state === "bad") ? 1 : 0
}

async function checkAll(terminal: Terminal): Promise<readonly CheckResult[]> {
  const versions = [checkNode(), checkSqlite()]
  const config = triedConfig(terminal)
  if (!("data" in config)) return [...versions, config]
  return [
    ...versions,
    checkAddress(config),
    ...(await tried("data", () => checkFolder(config))),
    ...(await tried("disk", () => checkDisk(config))),
    ...(await tried("ledger", () => checkLedger(config))),
    checkTimeService(),
    await checkService(config),
  ]
}

/** A check that fails to run is bad; the other checks still run. */
async function tried(
  name: string,
  look: () => CheckResult | readonly CheckResult[] | Promise<CheckResult | readonly CheckResult[]>,
): Promise<readonly CheckResult[]> {
  try {
    return [await look()].flat()
  } catch (error) {
    return [
      bad(
        name,
        error instanceof Error ? error.message : String(error),
        "look at the file, its owner, and its disk",
      ),
    ]
  }
}

/** Undefined if nothing is there. Throws if a permission is missing. */
function statsOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

const ok = (name: string, found: string): CheckResult => ({ name, state: "ok", found })
const warn = (name: string, found: string, advice: string): CheckResult => ({
  name,
  state: "warn",
  found,
  advice,
})
const bad = (name: string, found: string, advice: string): CheckResult => ({
  name,
  state: "bad",
  found,
  advice,
})

// Node and SQLite ---------------------------------------------------------------------------------

const oldestNode = "24.15.0"
const oldestSqlite = "3.51.3"

function checkNode(): CheckResult {
  const { node } = process.versions
  return isAtLeast(node, oldestNode)
    ? ok("node", node)
    : bad("node", node, `install Node ${oldestNode} or later`)
}

function checkSqlite(): CheckResult {
  const version = process.versions["sqlite"] ?? "none"
  return isAtLeast(version, oldestSqlite)
    ? ok("sqlite", version)
    : bad(
        "sqlite",
        version,
        `install a Node that has SQLite ${oldestSqlite} or later: in older versions, a checkpoint during a write can damage a file`,
      )
}

function isAtLeast(version: string, oldest: string): boolean {
  return oldest.localeCompare(version, "en", { numeric: true }) <= 0
}

// Configuration and files -------------------------------------------------------------------------

function triedConfig(terminal: Terminal): Config | CheckResult {
  try {
    return configOf(terminal)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return bad(
      "configuration",
      error.message,
      "correct it, or remove it from the environment; nothing else was checked",
    )
  }
}

function checkAddress({ host, publicUrl, trustProxy }: Config): CheckResult {
  const isOpen = !["127.0.0.1", "::1", "localhost"].includes(host)
  if (isOpen && publicUrl?.startsWith("https:") !== true)
    return warn(
      "configuration",
      `listens on ${host}, without TLS`,
      "put TLS in front of it, and set TALLYSTICK_PUBLIC_URL to its https address",
    )
  if (trustProxy === true && isOpen)
    return warn(
      "configuration",
      "trusts X-Forwarded-For from every address",
      "set TALLYSTICK_TRUST_PROXY to the proxy's address: now every client can claim another address",
    )
  return ok("configuration", `${publicUrl ?? "no public address"}, listening on ${host}`)
}

function checkFolder({ data, heads }: Config): readonly CheckResult[] {
  const folder = statsOf(data)
  if (folder?.isDirectory() === false)
    return [bad("data", `${data} is not a folder`, "set TALLYSTICK_DATA to the ledger's folder")]
  if (folder === undefined)
    return [
      warn(
        "data",
        `${data} does not exist yet`,
        "the first start creates it; if the ledger existed before, TALLYSTICK_DATA is wrong",
      ),
    ]
  const isInside = !relative(resolve(data), resolve(heads)).startsWith("..")
  return [
    privacyOf("data", data, "700"),
    ...["secret", "root-key"]
      .map((name) => privacyOf(name, join(data, name), "600"))
      .filter(({ found }) => found !== absent),
    isInside
      ? warn(
          "heads",
          `${heads} is in the data folder`,
          "move it elsewhere (TALLYSTICK_HEADS): a copy of the data that includes it is not detected",
        )
      : notYet(privacyOf("heads", heads, "600")),
  ]
}

const absent = "does not exist"

function privacyOf(name: string, path: string, mode: string): CheckResult {
  const stats = statsOf(path)
  if (stats === undefined) return ok(name, absent)
  const { mode: bits, uid } = stats
  const shownMode = (bits & 0o777).toString(8)
  const own = process.getuid?.()
  if (own !== undefined && own !== 0 && uid !== own)
    return bad(
      name,
      `${path} belongs to another account (${uid})`,
      `run this command and the service as its owner, or: chown -R ${own} ${path}`,
    )
  return (bits & 0o077) === 0
    ? ok(name, `${path}, mode ${shownMode}`)
    : bad(name, `${path} is open to other accounts, mode ${shownMode}`, `chmod ${mode} ${path}`)
}

function notYet(look: CheckResult): CheckResult {
  return look.found === absent
    ? warn(
        look.name,
        "there is no heads file yet",
        "the first start creates it; if it existed before, TALLYSTICK_HEADS is wrong: put the file back",
      )
    : look
}

// The disk ----------------------------------------------------------------------------------------

/** Below this many times the reserve, an operator must act soon. */
const roomyReserves = 16
const slowSyncMs = 100

function checkDisk({ data, limits }: Config): CheckResult {
  if (statsOf(data)?.isDirectory() !== true)
    return ok("disk", "not checked: there is no data folder")
  const { bavail, bsize } = statfsSync(data)
  const free = bavail * bsize
  const shownFree = `${Math.floor(free / 2 ** 20)} MiB free`
  if (free <= limits.diskReserveBytes)
    return bad(
      "disk",
      shownFree,
      "free some space: the service refuses writes, and still answers reads",
    )
  const syncMs = trySync(join(data, `doctor.${process.pid}`))
  if (typeof syncMs === "string")
    return bad(
      "disk",
      `cannot write: ${syncMs}`,
      "look at the disk, its mount, and the owner of the folder",
    )
  const found = `${shownFree}, a sync takes ${syncMs.toFixed(1)} ms`
  if (free < roomyReserves * limits.diskReserveBytes)
    return warn(
      "disk",
      found,
      `free some space: at ${limits.diskReserveBytes} bytes the service refuses writes`,
    )
  return syncMs > slowSyncMs
    ? warn("disk", found, "every commit waits for a sync; a local SSD takes a few milliseconds")
    : ok("disk", found)
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

// The ledger --------------------------------------------------------------------------------------

async function checkLedger(config: Config): Promise<readonly CheckResult[]> {
  if (statsOf(join(config.data, "journal.db")) === undefined) {
    if ((await readHeads(config.heads)).size === 0)
      return [warn("ledger", `${config.data} holds no ledger`, "the first start creates one")]
    const found = `${config.data} holds no ledger, and ${config.heads} says that something was signed`
    return [
      bad(
        "ledger",
        found,
        "check that the disk with the data is mounted, and put the data back; to start over, remove that file",
      ),
    ]
  }
  const snapshot = openSnapshot(config.data)
  try {
    const workspaces = await allWorkspaces(snapshot.registry)
    return [
      ...(await tried("keys", () => checkKeys(config, snapshot, workspaces))),
      ...(await tried("chains", () => checkChains(config, snapshot, workspaces))),
      ...(await tried("checkpoints", () => checkHeads(config, snapshot, workspaces))),
      ...(await tried("clock", () => checkClock(snapshot, workspaces))),
    ]
  } finally {
    await snapshot.close()
  }
}

/** The secret must open the newest key of every workspace, or nothing can be signed. */
async function checkKeys(
  config: Config,
  { registry }: Snapshot,
  workspaces: readonly Document<"workspace">[],
): Promise<CheckResult> {
  const { secret, previous } = knownSecrets(config)
  const advice =
    "bring the secret back that this data was made with: without it the service cannot sign and knows no key"
  if (secret === undefined)
    return bad(
      "keys",
      `TALLYSTICK_SECRET is not set, and there is no ${join(config.data, "secret")}`,
      advice,
    )
  const keyring = await keyringOf(registry, { secret, previous })
  if (keyring instanceof StartError) return bad("keys", keyring.message, advice)
  for (const { id } of workspaces) {
    const [newest] = await registry.list("log-key", id, undefined, 1)
    if (newest === undefined)
      return bad("keys", `workspace ${id} has no key to sign with`, "restore a backup")
    if (!canSign(keyring, newest))
      return bad("keys", `the secret does not open the signing key of workspace ${id}`, advice)
  }
  const found = `the secret opens the signing keys of ${counted(workspaces.length, "workspace")}`
  return keyring.before === undefined
    ? ok("keys", found)
    : warn(
        "keys",
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
  { journal }: Snapshot,
  workspaces: readonly Document<"workspace">[],
): Promise<CheckResult> {
  for (const workspace of workspaces) {
    const wrong = await recheck(journal, workspace, limits.recheckEntries)
    if (wrong !== undefined)
      return bad(
        "chains",
        wrong,
        "stop the service, keep this data unchanged, and restore a backup",
      )
  }
  return ok(
    "chains",
    `the last ${limits.recheckEntries} entries of ${counted(workspaces.length, "workspace")} hold together`,
  )
}

async function checkHeads(
  { heads: path }: Config,
  { journal }: Snapshot,
  workspaces: readonly Document<"workspace">[],
): Promise<CheckResult> {
  const heads = await readHeads(path)
  let signed = 0
  let hashed = 0
  for (const workspace of workspaces) {
    const [{ origin, before }] = epochsOf(workspace)
    const { id } = workspace
    const head = heads.get(origin)
    const entries = (await journal.head(id))?.sequence ?? 0
    if (head !== undefined && before + head.size > entries)
      return bad(
        "checkpoints",
        `workspace ${id} ends at entry ${entries}, and ${before + head.size} were signed`,
        "this data is older than what was signed: put the newer data back; if it is lost, tallystick resume continues from here in a new epoch",
      )
    if (head === undefined) continue
    signed += 1
    if (head.size > hashedEntriesMax) continue
    hashed += 1
    if (!equalBytes(await rootOf(journal, id, before, head.size), head.root))
      return bad(
        "checkpoints",
        `entries ${before + 1} to ${before + head.size} of workspace ${id} are not those that were signed`,
        "stop the service, keep this data unchanged, and run tallystick fsck",
      )
  }
  const missing = missingOf(heads, workspaces)
  if (missing.length > 0)
    return (workspaces.length === 0 ? bad : warn)(
      "checkpoints",
      `${path} has ${counted(missing.length, "ledger")} that ${missing.length === 1 ? "is" : "are"} not here: ${missing.slice(0, 3).join(", ")}`,
      "if this is the wrong disk or part of the data is missing, put it back; if you gave these ledgers up, remove their lines from that file",
    )
  const by =
    hashed === signed ? "" : `; ${signed - hashed} were only counted: tallystick fsck hashes them`
  return ok(
    "checkpoints",
    `nothing that was signed is missing: ${signed} of ${counted(workspaces.length, "workspace")}${by}`,
  )
}

/** Of one workspace, which takes some tenths of a second. */
const hashedEntriesMax = 100_000
const recordsPerRead = 4096

/**
 * Root of the tree over the first `size` records of an epoch, or over fewer if the data ends
 * before.
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
  workspaces: readonly Document<"workspace">[],
): Promise<CheckResult> {
  const nowMs = systemClock.now()
  let lastMs = 0
  for (const { id } of workspaces) lastMs = Math.max(lastMs, (await journal.head(id))?.timeMs ?? 0)
  if (lastMs > nowMs + clockBackMs)
    return bad(
      "clock",
      `the clock says ${isoTime(nowMs)}, and the last entry was recorded at ${isoTime(lastMs)}`,
      "set the clock right; until it passes that time, every entry gets that time",
    )
  return ok(
    "clock",
    lastMs === 0 ? "nothing was recorded yet" : `after the last entry, ${isoTime(lastMs)}`,
  )
}

/**
 * systemd-timesyncd makes this file when it has set the clock. Other time services leave nothing
 * that is as cheap to check.
 */
const synchronised = "/run/systemd/timesync/synchronized"

function checkTimeService(): CheckResult {
  return existsSync(synchronised)
    ? ok("time service", "the clock was set by systemd-timesyncd")
    : warn(
        "time service",
        "cannot see whether anything keeps the clock right",
        "check that NTP runs, such as chrony: entries carry this clock's time",
      )
}

// The service -------------------------------------------------------------------------------------

const answersWithinMs = 5000

async function checkService(config: Config): Promise<CheckResult> {
  if (config.port === 0)
    return warn("service", "not checked: TALLYSTICK_PORT is 0", "request its /readyz yourself")
  const url = addressOf(config)
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answersWithinMs) })
    if (answer.status === 200) return ok("service", `ready at ${url}`)
    return bad(
      "service",
      `${url}/readyz answers ${answer.status}: ${(await answer.text()).slice(0, 200)}`,
      "do what it says",
    )
  } catch {
    return warn(
      "service",
      `nothing answers at ${url}`,
      "if it should run, start it: tallystick serve",
    )
  }
}

// Output ------------------------------------------------------------------------------------------

const nameColumns = 14

function lineOf({ name, state, found, advice }: CheckResult): string {
  const line = `${state.padEnd(4)}  ${name.padEnd(nameColumns)} ${found}\n`
  return advice === undefined ? line : `${line}${" ".repeat(nameColumns + 7)}→ ${advice}\n`
}
