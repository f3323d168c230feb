// The operator's commands for the archive: show it, verify it, archive now, and restore all of it
// into the database. The last two need the service to be stopped.

import type { SequenceRange } from "@tallystick/proof"
import { systemClock } from "../clock.ts"
import { readBytes } from "../followers/due-frames.ts"
import { lastBefore, packUpTo, settledOf } from "../followers/packable-entries.ts"
import { createSegmentArchiving } from "../followers/segment-archiving.ts"
import { archiveDue, type ArchiverParts } from "../lifetime/archiver.ts"
import { restoreSegment } from "../lifetime/archive-segments.ts"
import { archivedBefore } from "../query/verified-entries.ts"
import { closing } from "../runtime/closing.ts"
import { checkSegment } from "../store/archive/archive-segment.ts"
import { ArchiveFailure, type ArchiveStorage } from "../store/archive/archive-storage.ts"
import { openArchive } from "../store/archive/open-archive.ts"
import { createSegmentDirectory } from "../store/archive/segment-directory.ts"
import { frameEntries } from "../store/body-frame.ts"
import { isInUse, openSnapshot, openStopped } from "../store/open-offline.ts"
import { archiveOf, openFiling, type StorePlace } from "../store/open.ts"
import type { Snapshot } from "../store/offline.ts"
import { destroyedBodies } from "../store/destroyed.ts"
import type { Workspace } from "../store/documents.ts"
import type { FilingStore } from "../store/store.ts"
import { openKeyring, type GivenSecrets } from "../workspace/stored-keyring.ts"
import { allWorkspaces } from "./check-store.ts"
import { administrationOf, withOfflineStore, type OfflineOptions } from "./offline-ledger.ts"

export interface ArchivedWorkspace {
  readonly workspace: string
  readonly segments: number
  readonly entries: number
  readonly bytes: number
  readonly textBytes: number
}

/** What each workspace has in the archive. The service may run. */
export async function archiveStatus(place: StorePlace): Promise<readonly ArchivedWorkspace[]> {
  await using snapshot = closing(await openSnapshot(place))
  const directory = createSegmentDirectory(snapshot.registry)
  return await Promise.all(
    (await allWorkspaces(snapshot.registry)).map(async ({ id }) => {
      const segments = await directory.list(id)
      const sum = (of: (segment: (typeof segments)[number]) => number): number =>
        segments.reduce((total, segment) => total + of(segment), 0)
      return {
        workspace: id,
        segments: segments.length,
        entries: sum(({ first, last }) => last - first + 1),
        bytes: sum(({ bytes }) => bytes),
        textBytes: sum(({ textBytes }) => textBytes),
      }
    }),
  )
}

export interface VerifiedArchive {
  readonly segments: number
  /** One sentence for each fault. */
  readonly faults: readonly string[]
  /** Files of these ledgers that no entry records. */
  readonly strays: readonly string[]
  /** Whether a service or a command was using the data, which may still record a stray. */
  readonly isInUse: boolean
}

/**
 * Reads every segment, and hashes every body in it again. The service may run: what it archives,
 * rewrites or removes meanwhile is neither a fault nor a stray.
 */
export async function verifyArchive(
  place: StorePlace,
  progress: (workspace: string, segments: number) => void,
): Promise<VerifiedArchive> {
  await using snapshot = closing(await openSnapshot(place))
  await using storage = closing(openArchive(archiveOf(place), systemClock))
  const all = { segments: 0, faults: [] as string[], strays: [] as string[] }
  for (const workspace of await allWorkspaces(snapshot.registry))
    await verifyWorkspace({ place, snapshot, storage }, workspace, all, progress)
  return { ...all, isInUse: await isInUse(place) }
}

interface VerifyingParts {
  readonly place: StorePlace
  readonly snapshot: Snapshot
  readonly storage: ArchiveStorage
}

async function verifyWorkspace(
  { place, snapshot: { journal, registry }, storage }: VerifyingParts,
  { id, value }: Workspace,
  all: { segments: number; faults: string[]; strays: string[] },
  progress: (workspace: string, segments: number) => void,
): Promise<void> {
  for (const segment of await createSegmentDirectory(registry).list(id)) {
    const { fault } = await checkSegment(storage, segment, (sequence, count) =>
      journal.records(id, sequence, count),
    ).catch(unreadable)
    // Who replaces a segment reads the new file back.
    if (fault !== undefined && !(await recordedNow(place, id)).has(segment.file)) continue
    if (fault !== undefined)
      all.faults.push(
        `${id}: the segment of entries ${segment.first} to ${segment.last} ${fault}: ${segment.file}`,
      )
    progress(id, ++all.segments)
  }
  const files: string[] = []
  for (const { ledgerId } of [value, ...(value.former ?? [])])
    for await (const { name } of storage.list(`${ledgerId}/`)) files.push(name)
  // A file is written before it is recorded.
  const recorded = await recordedNow(place, id)
  all.strays.push(...files.filter((name) => !recorded.has(name)))
}

/** The files that a workspace has at this moment, later than the snapshot. */
async function recordedNow(place: StorePlace, workspace: string): Promise<ReadonlySet<string>> {
  await using now = closing(await openSnapshot(place))
  const segments = await createSegmentDirectory(now.registry).list(workspace)
  return new Set(segments.map(({ file }) => file))
}

/** If one segment cannot be read, the others are still checked. */
function unreadable(error: unknown): { readonly fault: string } {
  if (!(error instanceof ArchiveFailure)) throw error
  return { fault: `cannot be read (${error.message})` }
}

export interface ArchiveChangeOptions extends OfflineOptions {
  readonly secrets: GivenSecrets
  readonly progress: (workspace: string, entries: number) => void
}

export interface ArchivedNow {
  readonly entries: number
  /** The workspaces with due entries that stay in the database. */
  readonly staying: readonly StayingEntries[]
}

export interface StayingEntries {
  readonly workspace: string
  /** Entries that no signed checkpoint covers. */
  readonly unsigned: number
  /** Entries whose bodies do not match their records. */
  readonly damaged: number
}

/** Archives everything that is due, also less than a full segment. */
export async function archiveNow(options: ArchiveChangeOptions): Promise<ArchivedNow> {
  const staying: StayingEntries[] = []
  const entries = await withArchiver(options, async (parts, workspace, filing) => {
    const dueMs = archivedBefore(workspace, systemClock.now())
    const { sequence: last = 1 } = (await filing.journal.head(workspace.id)) ?? {}
    await packDue(filing, workspace.id, dueMs)
    const asked = {
      partialMs: 0,
      ends: new Map<string, number>(),
      incomplete: new Set<string>(),
      isOver: () => false,
    }
    // The first sweep notes where the frames end; nobody packs more meanwhile.
    const first = await archiveDue(parts, workspace, asked)
    const second = await archiveDue(parts, workspace, asked)
    // The last entry is never packed.
    const due = await lastBefore(filing, workspace.id, dueMs, 0, last - 1)
    const left = await stayingOf(filing, workspace.id, await wholeFrames(filing, workspace.id, due))
    if (left.unsigned + left.damaged > 0) staying.push(left)
    return first.entries + second.entries
  })
  return { entries, staying }
}

/** Due entries that the service has packed with newer ones wait until these are due. */
async function wholeFrames(
  { content }: FilingStore,
  workspace: string,
  due: number,
): Promise<number> {
  const frames = await content.frames(workspace, Math.max(0, due - frameEntries), readBytes)
  const last = frames.find(({ first, count }) => first <= due && due < first + count - 1)
  return last === undefined ? due : last.first - 1
}

/** Those of the first `due` entries that are neither archived nor destroyed. */
async function stayingOf(
  filing: FilingStore,
  workspace: string,
  due: number,
): Promise<StayingEntries> {
  const { registry } = filing
  const { covered } = await settledOf(filing, workspace)
  const signed = Math.min(due, covered)
  const segments = await createSegmentDirectory(registry).list(workspace)
  const gone = await destroyedBodies(registry, workspace, { first: 1, last: signed })
  const away = [...segments, ...gone]
  return { workspace, unsigned: due - signed, damaged: signed - countOf(away, signed) }
}

/** How many of the sequences up to this one are in some of these ranges. */
function countOf(ranges: readonly SequenceRange[], upTo: number): number {
  let [count, end] = [0, 0]
  for (const { first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    const [from, to] = [Math.max(first, end + 1), Math.min(last, upTo)]
    count += Math.max(0, to - from + 1)
    end = Math.max(end, to)
  }
  return count
}

/** Packs all entries that were recorded before this, also without a segment of the search. */
async function packDue(filing: FilingStore, workspace: string, dueMs: number): Promise<void> {
  const { covered } = await settledOf(filing, workspace)
  const last = await lastBefore(filing, workspace, dueMs, 0, covered)
  await packUpTo(filing.content, workspace, last)
}

/** Puts the bodies of all segments back into the database. Returns the number of entries. */
export function restoreArchive(options: ArchiveChangeOptions): Promise<number> {
  return withArchiver(options, async (parts, workspace) => {
    let entries = 0
    for (const segment of await createSegmentDirectory(parts.registry).list(workspace.id)) {
      await restoreSegment(parts, workspace, segment)
      entries += segment.last - segment.first + 1
      options.progress(workspace.id, entries)
    }
    return entries
  })
}

async function withArchiver(
  options: ArchiveChangeOptions,
  act: (parts: ArchiverParts, workspace: Workspace, filing: FilingStore) => Promise<number>,
): Promise<number> {
  // Throws if there is no ledger. Otherwise the next line would make one.
  await (await openStopped(options)).close()
  return await withOfflineStore(options, async (store) => {
    await using filing = closing(await openFiling({ ...options, isAlone: true }))
    await using storage = closing(openArchive(archiveOf(options), systemClock))
    const keyring = await openKeyring(store.registry, options.secrets)
    const parts = {
      ...administrationOf(options, store, keyring),
      journal: store.journal,
      archiving: createSegmentArchiving(filing, storage, systemClock),
    }
    let entries = 0
    for (const workspace of await allWorkspaces(store.registry))
      entries += await act(parts, workspace, filing)
    return entries
  })
}
