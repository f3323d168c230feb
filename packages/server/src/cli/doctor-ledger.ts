// The checks of `tallystick doctor` on the ledger: its keys, its chains, what was signed, and the
// clock. They read a snapshot, so the service may run.

import { join } from "node:path"
import { createFrontier, equalBytes, eventHash, recordBytes } from "@tallystick/proof"
import { statsOf } from "../operator/check-places.ts"
import {
  allWorkspaces,
  clockBackMs,
  endsBefore,
  missingOf,
  withoutHeads,
} from "../operator/check-store.ts"
import { isoTime, systemClock } from "../clock.ts"
import type { Config } from "../config.ts"
import { detailOf, StartError } from "../error.ts"
import { createArchiveCheck } from "../followers/archive-check.ts"
import { knownSecrets } from "../operator/secret-files.ts"
import { recheck } from "../ledger/recheck.ts"
import { sha256 } from "../runtime/sha256.ts"
import { openArchive } from "../store/archive/open-archive.ts"
import { epochsOf } from "../store/epochs.ts"
import { readHeads } from "../store/heads.ts"
import { isSealedBy } from "../store/log-keys.ts"
import { closing } from "../runtime/closing.ts"
import type { Snapshot } from "../store/offline.ts"
import { openSnapshot } from "../store/open-offline.ts"
import { largestHeads } from "../store/open.ts"
import type { Workspace } from "../store/documents.ts"
import { openKeyring } from "../workspace/stored-keyring.ts"
import { counted } from "./terminal.ts"
import {
  archiveAdvice,
  bad,
  check,
  ok,
  warn,
  type CheckResult,
  type Verdict,
} from "./doctor-verdict.ts"

export async function checkLedger(
  config: Config,
  hasLedger = statsOf(join(config.data, "journal.db")) !== undefined,
): Promise<Verdict | readonly CheckResult[]> {
  const { data, databaseUrl, heads } = config
  if (!hasLedger) {
    const [place, advice] =
      databaseUrl === undefined
        ? [data, "check that the disk with the data is mounted, and put the data back"]
        : ["the database", "correct TALLYSTICK_DATABASE_URL, or restore the database"]
    if ((await readHeads(heads)).size === 0)
      return warn(`${place} holds no ledger`, "the first start creates one")
    return bad(
      `${place} holds no ledger, and ${heads} says that something was signed`,
      `${advice}; to start over, remove that file`,
    )
  }
  await using snapshot = closing(await openSnapshot(config))
  const workspaces = await allWorkspaces(snapshot.registry)
  return [
    ...(await check("keys", () => checkKeys(config, snapshot, workspaces))),
    ...(await check("chains", () => checkChains(config, snapshot, workspaces))),
    ...(await check("checkpoints", () => checkHeads(config, snapshot, workspaces))),
    ...(await check("clock", () => checkClock(snapshot, workspaces))),
    ...(await check("segments", () => checkSegments(config, snapshot))),
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
  const keyring = await openKeyring(registry, { secret, previous }).catch((error: unknown) => {
    if (error instanceof StartError) return error
    throw error
  })
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
    `the last entries of ${counted(workspaces.length, "workspace")}, up to ${limits.recheckEntries} of each, pass their integrity check`,
  )
}

async function checkHeads(
  config: Config,
  { journal }: Snapshot,
  workspaces: readonly Workspace[],
): Promise<Verdict> {
  const path = config.heads
  if (workspaces.length > 0 && withoutHeads(path, config) !== undefined)
    return bad(
      `${path} does not exist, so nobody knows what was signed`,
      "put the file back, or set TALLYSTICK_HEADS to it; if it is lost, make an empty file of this name: until then a start is read-only",
    )
  const heads = await largestHeads(path, config)
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
  const missing = missingOf(await readHeads(path), workspaces)
  if (missing.length > 0)
    return (workspaces.length === 0 ? bad : warn)(
      `${path} has ${counted(missing.length, "ledger")} that ${missing.length === 1 ? "is" : "are"} not here: ${missing.slice(0, 3).join(", ")}`,
      "if this is the wrong disk or part of the data is missing, put it back; if you gave these ledgers up, remove their lines from that file",
    )
  if (signed < workspaces.length)
    return warn(
      `nothing says what was signed of ${counted(workspaces.length - signed, "workspace")}, so entries may be missing there`,
      `a service signs what is new within a second, and lists it in ${path}; if that file was lost or is another one, put the right one back`,
    )
  const by =
    hashed === signed ? "" : `; ${signed - hashed} were only counted: tallystick fsck hashes them`
  return ok(`nothing that was signed is missing in ${counted(signed, "workspace")}${by}`)
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

/** The folder of an archive whose disk is not mounted looks like the one of a new ledger. */
async function checkSegments(
  { archive }: Config,
  { registry }: Snapshot,
): Promise<Verdict | readonly []> {
  await using storage = closing(openArchive(archive, systemClock))
  try {
    await createArchiveCheck(registry, storage)()
    return []
  } catch (error) {
    return bad(detailOf(error), archiveAdvice)
  }
}

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
