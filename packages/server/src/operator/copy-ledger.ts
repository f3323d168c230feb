// Copies a ledger into another place, while no service runs on either: from a folder into a
// database, or back. Entries are appended unchanged, so every hash and every receipt stays. An
// entry without its body gets a placeholder, which is destroyed at once. An interrupted copy
// continues from the heads of the target. The documents follow in one transaction, so no service
// starts on half a copy; then all derived data is made again.

import { assert, bodySaltBytes, equalBytes, eventHash, parseRecord, utf8 } from "@tallystick/proof"
import { StartError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { closing } from "../runtime/closing.ts"
import { sha256 } from "../runtime/sha256.ts"
import { packUpTo } from "../followers/packable-entries.ts"
import { every } from "../store/all-documents.ts"
import { createSegmentDirectory } from "../store/archive/segment-directory.ts"
import type { ContentKeeper } from "../store/content-keeper.ts"
import { bodiless, destroyedBodies, readGone, type GoneAt } from "../store/destroyed.ts"
import type { Linked, Head, Stored } from "../store/entries.ts"
import { epochsOf } from "../store/epochs.ts"
import type { StoppedStore } from "../store/offline.ts"
import { openStopped, openWhole } from "../store/open-offline.ts"
import {
  openFiling,
  openSignedHeads,
  placeName,
  readSignedHeads,
  type ListedHeads,
  type StorePlace,
} from "../store/open.ts"
import type { Workspace } from "../store/documents.ts"
import type { Checkpoint } from "../store/index-state.ts"
import type { Journal, JournalReader, Store, WatchedStore } from "../store/store.ts"
import { openKeyring, type GivenSecrets } from "../workspace/stored-keyring.ts"
import { allWorkspaces, endsBefore } from "./check-store.ts"
import { openOffline } from "./offline-ledger.ts"
import { reindex } from "./reindex.ts"

export interface LedgerPlace extends StorePlace {
  readonly heads: string
}

export interface CopyOptions {
  readonly from: LedgerPlace
  readonly to: LedgerPlace
  readonly secrets: GivenSecrets
  readonly limits: Limits
  readonly progress: (step: string) => void
}

export interface CopyResult {
  readonly workspaces: number
  readonly entries: number
  /** Of these, entries that the target had before. */
  readonly before: number
}

export async function copyLedger(options: CopyOptions): Promise<CopyResult> {
  const { from, to, limits, progress } = options
  await using source = closing(await openStopped(from))
  const workspaces = await checkedSource(options, source)
  const checkpoints = await checkpointsOf(from, workspaces)
  const copied = await copyEntries(options, source, workspaces)
  await copyDocuments(to, source)
  for (const trouble of await reindex(
    to,
    limits,
    ({ workspace, done, entries }) => progress(`${workspace}: indexed ${done} of ${entries}`),
    ({ index }) => putCheckpoints(index, checkpoints),
  ))
    throw new StartError(`the copy fails its integrity check: ${trouble}`)
  return { workspaces: workspaces.length, ...copied }
}

/** The checks before anything is written. */
async function checkedSource(
  { from, secrets }: CopyOptions,
  { registry, journal, isCopy }: StoppedStore,
): Promise<readonly Workspace[]> {
  if (isCopy)
    throw new StartError(
      `${placeName(from)} is a copy that tallystick backup made: run tallystick resume on it first`,
    )
  const workspaces = await allWorkspaces(registry)
  if (workspaces.length === 0)
    throw new StartError(`nothing is recorded in ${placeName(from)}: there is nothing to copy`)
  await openKeyring(registry, secrets)
  const signed = await readSignedHeads(from.heads, from)
  for (const workspace of workspaces) {
    const [{ origin, before }] = epochsOf(workspace)
    const { sequence = 0 } = (await journal.head(workspace.id)) ?? {}
    // The heads are copied too: without them, nobody would know later whether the copy is an old one.
    if (!signed.some(({ heads }) => heads.has(origin)))
      throw new StartError(
        `nothing says what was signed of workspace ${workspace.id}: set TALLYSTICK_HEADS to the heads file of ${placeName(from)}; if it is lost, make an empty one, and start the service on it once, which signs`,
      )
    for (const { heads } of signed) {
      const lost = endsBefore(workspace.id, sequence, before + (heads.get(origin)?.size ?? 0))
      if (lost !== undefined)
        throw new StartError(`the data is older than what was signed: ${lost}`)
    }
  }
  return workspaces
}

// Entries -----------------------------------------------------------------------------------------

/** Workspaces share commits if the engine allows that. */
const workspacesAtOnce = 4
const entriesPerAppend = 1000

async function copyEntries(
  { from, to, limits, progress }: CopyOptions,
  source: StoppedStore,
  workspaces: readonly Workspace[],
): Promise<Pick<CopyResult, "entries" | "before">> {
  await using target = closing(await openOffline({ ...to, limits }))
  await using filing = closing(await openFiling({ ...to, isAlone: true }))
  if (target.readOnly !== undefined)
    throw new StartError(`nothing can be copied into ${placeName(to)}: ${target.readOnly}`)
  await assertNoOther(target, workspaces, to)
  // Before the first entry, so that a service that starts on half a copy finds that entries are
  // missing.
  await copyHeads(await readSignedHeads(from.heads, from), to, workspaces)
  let [entries, before] = [0, 0]
  const each = workspaces.values()
  const copySome = async (): Promise<void> => {
    for (const workspace of each) {
      const start = await startOf(source.journal, target.journal, workspace, to)
      const end = await copyChain(source, target.journal, workspace.id, start, progress)
      await destroyBodies(source.registry, filing.content, workspace.id, end)
      await packArchived(source.registry, filing.content, workspace.id)
      entries += end
      before += start.sequence
    }
  }
  await Promise.all(Array.from({ length: workspacesAtOnce }, copySome))
  return { entries, before }
}

async function assertNoOther(
  { registry }: Store,
  workspaces: readonly Workspace[],
  to: StorePlace,
): Promise<void> {
  const known = new Map(workspaces.map((workspace) => [workspace.id, workspace]))
  for await (const { id, value } of every(registry, "workspace", undefined))
    if (known.get(id)?.value.ledgerId !== value.ledgerId)
      throw new StartError(
        `${placeName(to)} has another ledger, with a workspace ${id} that the source does not have; copy into an empty place`,
      )
}

async function copyHeads(
  signed: readonly ListedHeads[],
  to: LedgerPlace,
  workspaces: readonly Workspace[],
): Promise<void> {
  await using target = closing(await openSignedHeads(to.heads, { ...to, isAlone: true }))
  for (const { origin } of workspaces.flatMap((workspace) => epochsOf(workspace)))
    for (const { heads } of signed) {
      const head = heads.get(origin)
      const known = await target.get(origin)
      if (head === undefined || (known !== undefined && known.size > head.size)) continue
      if (!(await target.advance(origin, head)))
        throw new StartError(
          `${to.heads} or ${placeName(to)} says that another tree of ${origin} was signed`,
        )
    }
}

/** The head of the target. Throws unless the target's entries are the first of the source's. */
async function startOf(
  source: JournalReader,
  target: JournalReader,
  workspace: Workspace,
  to: StorePlace,
): Promise<Head> {
  const { id } = workspace
  const start = await target.head(id)
  const { ledgerId = new Uint8Array() } = epochsOf(workspace).at(-1) ?? {}
  if (start === undefined) return { sequence: 0, hash: ledgerId, timeMs: 0 }
  const [record] = await source.recordsAt(id, [start.sequence])
  if (record === undefined || !equalBytes(eventHash(record, sha256), start.hash))
    throw new StartError(
      `${placeName(to)} has another history: entry ${start.sequence} of workspace ${id} is not the source's; copy into an empty place`,
    )
  return start
}

/** Returns the sequence of the last entry. Reads the next entries while the last are written. */
async function copyChain(
  { journal, registry }: StoppedStore,
  target: Journal,
  workspace: string,
  start: Head,
  progress: CopyOptions["progress"],
): Promise<number> {
  let head = start
  const { sequence: last = 0 } = (await journal.head(workspace)) ?? {}
  const read = (after: number): Promise<readonly Stored[]> => {
    const reading = journal.after(workspace, after, entriesPerAppend)
    // It is awaited below, unless an append fails first.
    reading.catch(() => {})
    return reading
  }
  for (let reading = read(head.sequence); head.sequence < last;) {
    const entries = await reading
    reading = read(entries.at(-1)?.sequence ?? last)
    const goneAt = await readGone(registry, workspace, bodiless(entries))
    const { kind } = await target.append({
      workspace,
      from: head,
      entries: entries.map((entry, at) => linkedOf(entry, head.sequence + at + 1, goneAt)),
    })
    if (kind !== "done")
      throw new StartError(
        `entries after ${head.sequence} of workspace ${workspace} could not be appended (${kind}): something else writes to the target, or the source has a key twice; run tallystick fsck on the source`,
      )
    head = headOf(entries)
    progress(`${workspace}: ${head.sequence} of ${last} entries`)
  }
  return last
}

/** The placeholder for content that was destroyed. */
const nothing = { bodySalt: new Uint8Array(bodySaltBytes), body: utf8("{}"), disclosures: "" }

async function destroyBodies(
  registry: StoppedStore["registry"],
  content: ContentKeeper,
  workspace: string,
  last: number,
): Promise<void> {
  for (const range of await destroyedBodies(registry, workspace, { first: 1, last }))
    for (let { first } = range; first <= range.last;)
      first = 1 + (await content.destroyBodies(workspace, [{ ...range, first }]))
}

/** Frames end where the segments do: of a frame that is partly in one, nothing could be dropped. */
async function packArchived(
  registry: StoppedStore["registry"],
  content: ContentKeeper,
  workspace: string,
): Promise<void> {
  for (const { first, last } of await createSegmentDirectory(registry).list(workspace))
    for (const end of [first - 1, last]) await packUpTo(content, workspace, end)
}

function linkedOf(entry: Stored, expected: number, goneAt: GoneAt): Linked {
  const { workspace, sequence, record, receipt, idem, bodySalt, body, disclosures } = entry
  if (sequence === expected && body === undefined && goneAt(sequence)?.what === "body")
    return { record, receipt, idem, ...nothing }
  const isWhole = body !== undefined && bodySalt?.length === bodySaltBytes
  if (sequence !== expected || !isWhole)
    throw new StartError(
      `entry ${expected} of workspace ${workspace} is missing, or its body is; run tallystick fsck on the source`,
    )
  return { record, receipt, idem, bodySalt, body, disclosures }
}

function headOf(entries: readonly Stored[]): Head {
  const last = entries.at(-1)
  assert(last !== undefined, "the chain has not ended")
  const { sequence, record } = last
  return {
    sequence,
    hash: eventHash(record, sha256),
    timeMs: parseRecord(record)?.timeMs ?? 0,
  }
}

// What no entry makes again -----------------------------------------------------------------------

async function copyDocuments(to: StorePlace, source: StoppedStore): Promise<void> {
  await using target = closing(await openStopped(to))
  await target.replaceDocuments(source.documents())
}

interface SignedCheckpoint {
  readonly workspace: string
  readonly epoch: number
  readonly checkpoint: Checkpoint
}

/** The newest of each workspace. Those of former epochs are in the documents. */
async function checkpointsOf(
  from: StorePlace,
  workspaces: readonly Workspace[],
): Promise<readonly SignedCheckpoint[]> {
  await using whole = closing(await openWhole(from, { alone: false }))
  const checkpoints: SignedCheckpoint[] = []
  for (const document of workspaces) {
    const [{ workspace, number: epoch }] = epochsOf(document)
    const checkpoint = await whole.index?.checkpoint(workspace, epoch)
    if (checkpoint !== undefined) checkpoints.push({ workspace, epoch, checkpoint })
  }
  return checkpoints
}

/** The index has just been made again, so it has none. */
async function putCheckpoints(
  index: WatchedStore["index"],
  checkpoints: readonly SignedCheckpoint[],
): Promise<void> {
  for (const { workspace, epoch, checkpoint } of checkpoints)
    assert(
      await index.putCheckpoint(workspace, epoch, 0, checkpoint),
      "an index that was made anew has no checkpoint",
    )
}
