// Moves the bodies of old entries into the archive: a segment is written and read back, recorded as
// an entry together with its document, and only then are its bodies dropped from the database. A
// process that is killed leaves at most a file that nothing names, or bodies in both places, which
// the next start drops. The heavy part is in the filing thread (followers/segment-archiving.ts).

import { toHex } from "@tallystick/proof"
import { pause } from "../clock.ts"
import type { Limits } from "../limits.ts"
import { archivedBefore } from "../query/verified-entries.ts"
import { every } from "../store/all-documents.ts"
import { createSegmentDirectory, segmentAt } from "../store/archive/segment-directory.ts"
import type { ArchiveSegmentDocument, Workspace } from "../store/documents.ts"
import { epochsOf } from "../store/epochs.ts"
import type { Journal } from "../store/store.ts"
import {
  recordSegment,
  removeDestroyed,
  removeFromNewest,
  type SegmentParts,
} from "./archive-segments.ts"

/** The result of a sweep over all workspaces that this process follows. */
export interface ArchiveState {
  readonly segments: number
  readonly bytes: number
  /** How long the oldest due entry has waited that is still in the database; 0 if there is none. */
  readonly overdueMs: number
}

export type ArchiverReport =
  | { readonly kind: "archived"; readonly workspace: string; readonly entries: number }
  | { readonly kind: "not archived"; readonly workspace: string; readonly error: unknown }
  | { readonly kind: "swept"; readonly state: ArchiveState }

export interface ArchiverParts extends SegmentParts {
  readonly journal: Pick<Journal, "head">
  readonly limits: Pick<Limits, "archiveEveryMs" | "archiveEntriesMax" | "archivePartialMs">
}

interface ArchiverOptions {
  /** Whether this process is the one that may change the workspace's content. */
  readonly isOurs: (workspace: string) => Promise<boolean>
  /** Nothing is recorded in a workspace whose chain is broken. */
  readonly isHalted: (workspace: string) => boolean
  readonly report: (report: ArchiverReport) => void
}

export interface Archiver {
  close(): Promise<void>
}

/** The first requests have precedence. What is due has waited for days. */
const firstSweepMs = 1000

export function startArchiver(parts: ArchiverParts, options: ArchiverOptions): Archiver {
  const { registry, clock, limits } = parts
  const stop = new AbortController()
  /** For each workspace, where the due frames ended that do not fill a segment. */
  const ends = new Map<string, number>()
  const incomplete = new Set<string>()
  /** Workspaces whose newest segment has lost what was destroyed while it was recorded. */
  const cleaned = new Set<string>()
  const ended = run()
  return {
    close() {
      stop.abort()
      return ended
    },
  }

  async function run(): Promise<void> {
    await pause(clock, firstSweepMs, stop.signal)
    while (!stop.signal.aborted) {
      await sweep()
      await pause(clock, limits.archiveEveryMs, stop.signal)
    }
  }

  async function sweep(): Promise<void> {
    const state = { segments: 0, bytes: 0, overdueMs: 0 }
    try {
      for await (const workspace of every(registry, "workspace", undefined)) {
        if (stop.signal.aborted) return
        await look(workspace.id, state)
      }
      options.report({ kind: "swept", state })
    } catch (error) {
      options.report({ kind: "not archived", workspace: "", error })
    }
  }

  async function look(id: string, state: { -readonly [K in keyof ArchiveState]: number }) {
    try {
      const workspace = await registry.get("workspace", id, id)
      if (workspace === undefined || options.isHalted(id)) return
      if (!(await options.isOurs(id))) {
        cleaned.delete(id)
        return
      }
      if (!cleaned.has(id)) await clean(workspace)
      const archived = await archiveDue(parts, workspace, {
        partialMs: limits.archivePartialMs,
        ends,
        incomplete,
        isOver: () => stop.signal.aborted,
      })
      if (archived.entries > 0)
        options.report({ kind: "archived", workspace: id, entries: archived.entries })
      state.segments += archived.segments.length
      for (const { bytes } of archived.segments) state.bytes += bytes
      state.overdueMs = Math.max(state.overdueMs, archived.overdueMs)
    } catch (error) {
      // The segment at fault may be one that another process has not finished.
      cleaned.delete(id)
      options.report({ kind: "not archived", workspace: id, error })
    }
  }

  /** The process before may have died between the two. A damaged segment holds up no others. */
  async function clean(workspace: Workspace): Promise<void> {
    try {
      await removeFromNewest(parts, workspace)
      cleaned.add(workspace.id)
    } catch (error) {
      options.report({ kind: "not archived", workspace: workspace.id, error })
    }
  }
}

interface ArchivingOptions {
  readonly partialMs: number
  readonly ends: Map<string, number>
  /**
   * The files of segments that lack some of the bodies in the database: their frames stay there.
   */
  readonly incomplete: Set<string>
  readonly isOver: () => boolean
}

interface Archived {
  /** The number of entries that were archived now. */
  readonly entries: number
  /** All segments of the workspace. */
  readonly segments: readonly ArchiveSegmentDocument[]
  readonly overdueMs: number
}

/** Finishes an interrupted segment, and archives everything that is due in a workspace. */
export async function archiveDue(
  parts: ArchiverParts,
  workspace: Workspace,
  { partialMs, ends, incomplete, isOver }: ArchivingOptions,
): Promise<Archived> {
  const { registry, archiving, clock } = parts
  const directory = createSegmentDirectory(registry)
  const { id } = workspace
  const endedAt = ends.get(id)
  ends.delete(id)
  let [entries, after, waitedMs] = [0, 0, 0]
  for (;;) {
    const oldest = await archiving.oldest(id, after)
    const segments = await directory.list(id)
    const dueMs = archivedBefore(workspace, clock.now())
    const overdueMs = oldest === undefined ? 0 : Math.max(0, dueMs - oldest.timeMs)
    const over = { entries, segments, overdueMs: Math.max(overdueMs, waitedMs) }
    if (oldest === undefined || overdueMs === 0 || isOver()) return over
    const begun = segmentAt(segments, oldest.first)
    if (begun !== undefined) {
      if (incomplete.has(begun.file) || (await archiving.drop(id, begun, false))) {
        incomplete.add(begun.file)
        after = begun.last
      }
      continue
    }
    const next = segments.find(({ first }) => first > oldest.first)
    const written = await archiving.write({
      workspace: id,
      after,
      end: next?.first ?? Infinity,
      ledgers: await ledgersOf(parts, workspace, segments),
      dueMs,
      entriesMax: parts.limits.archiveEntriesMax,
      partialDueMs: dueMs - partialMs,
      endedAt,
    })
    if (written === undefined && next !== undefined) {
      // These frames cannot be archived. Behind them, a segment may have been interrupted.
      waitedMs = Math.max(waitedMs, overdueMs)
      after = next.first - 1
      continue
    }
    if (written === undefined) return over
    if ("endsAt" in written) {
      ends.set(id, written.endsAt)
      return over
    }
    const { document } = written
    if (!(await recordSegment(parts, workspace, written))) {
      // Content in it was destroyed meanwhile: the next sweep begins with the rest. Or another
      // process has recorded it: the same frames make the same file, which that entry names.
      const recorded = segmentAt(await directory.list(id), document.first)
      if (recorded?.file !== document.file) await archiving.discard([document.file])
      return over
    }
    await removeDestroyed(parts, workspace, [document])
    // Who destroyed some of it before it was recorded has deleted its file, so it was removed again.
    if (segmentAt(await directory.list(id), document.first) === undefined) continue
    await archiving.drop(id, document, true)
    entries += document.last - document.first + 1
  }
}

async function ledgersOf(
  { journal }: ArchiverParts,
  workspace: Workspace,
  segments: readonly ArchiveSegmentDocument[],
) {
  const { sequence: last = 0 } = (await journal.head(workspace.id)) ?? {}
  const archived = new Set(segments.map(({ ledgerId }) => ledgerId))
  return epochsOf(workspace).map(({ ledgerId, before, end = last }) => ({
    ledgerId: toHex(ledgerId),
    before,
    last: end,
    hasSegments: archived.has(toHex(ledgerId)),
  }))
}
