// Records archive segments: when one is made, when one is rewritten because content in it was
// destroyed, and when one is removed. A document changes together with its entry, and files are
// deleted only after that.

import { isDeepStrictEqual } from "node:util"
import { toHex, type SequenceRange } from "@tallystick/proof"
import type { SegmentArchiving, WrittenSegment } from "../followers/segment-archiving.ts"
import { createSegmentDirectory, segmentAt } from "../store/archive/segment-directory.ts"
import { destroyedBodies, isWithin } from "../store/destroyed.ts"
import {
  changed,
  created,
  segmentDocumentId,
  type ArchiveSegmentDocument,
  type Change,
  type Workspace,
} from "../store/documents.ts"
import { epochsOf } from "../store/epochs.ts"
import { recordPlanned, type AdminParts } from "../workspace/admin-entries.ts"
import { required } from "../workspace/required-document.ts"

export interface SegmentParts extends Pick<AdminParts, "registry" | "ledger" | "clock"> {
  readonly archiving: SegmentArchiving
}

/** A segment to record, perhaps in place of another one. */
interface NewSegment {
  readonly document: ArchiveSegmentDocument
  readonly replaced?: ArchiveSegmentDocument
  /** Whether it lacks the body of this entry. */
  readonly lacks: (sequence: number) => boolean
}

/** False if the segment has content that was destroyed meanwhile, or that another segment has. */
export async function recordSegment(
  parts: SegmentParts,
  workspace: Workspace,
  { document, missing }: WrittenSegment,
): Promise<boolean> {
  const absent = new Set(missing)
  const lacks = (sequence: number): boolean => absent.has(sequence)
  const [recorded] = await recordSegments(parts, workspace, [{ document, lacks }])
  return recorded !== undefined
}

/**
 * Records them in one commit. Returns those that were recorded; the others must not be recorded any
 * more.
 */
async function recordSegments(
  { registry, ledger, clock }: SegmentParts,
  workspace: Workspace,
  made: readonly NewSegment[],
): Promise<readonly NewSegment[]> {
  const directory = createSegmentDirectory(registry)
  let recorded: readonly NewSegment[] = []
  await recordPlanned({ ledger, clock }, workspace, async () => {
    const document = await required(registry, "workspace", workspace.id, workspace.id)
    const segments = await directory.list(workspace.id)
    const good = await Promise.all(
      made.map(async (one) => ({
        one,
        isGood: hasPlace(segments, one) && (await lacksDestroyed(registry, workspace.id, one)),
      })),
    )
    recorded = good.flatMap(({ one, isGood }) => (isGood ? [one] : []))
    if (recorded.length === 0) return undefined
    const acts = recorded.map(async ({ document, replaced }) => ({
      ...actOf("ledger.archive.segment", document, replaced),
      changes: [
        created("archive-segment", segmentDocumentId(document), document),
        ...(await removal({ registry }, workspace.id, replaced)),
      ],
    }))
    // A new segment changes no document that others change, too. With this one, two processes that
    // have found the same place free cannot both record one there.
    const isAnyNew = recorded.some(({ replaced }) => replaced === undefined)
    const changes = isAnyNew ? [changed(document, document.value)] : []
    return { acts: await Promise.all(acts), changes }
  })
  return recorded
}

/** Whether the segment that it replaces still exists, and no other is in its range. */
function hasPlace(
  segments: readonly ArchiveSegmentDocument[],
  { document, replaced }: NewSegment,
): boolean {
  const there = segments.filter(
    ({ first, last }) => first <= document.last && last >= document.first,
  )
  return there.length === (replaced === undefined ? 0 : 1) && there[0]?.file === replaced?.file
}

async function lacksDestroyed(
  registry: SegmentParts["registry"],
  workspace: string,
  { document, lacks }: NewSegment,
): Promise<boolean> {
  for (const { first, last } of await destroyedBodies(registry, workspace, document))
    for (let sequence = first; sequence <= last; sequence++) if (!lacks(sequence)) return false
  return true
}

function actOf(
  action: "ledger.archive.segment" | "ledger.archive.remove",
  document: ArchiveSegmentDocument,
  replaced?: ArchiveSegmentDocument,
) {
  const replaces = replaced === undefined ? {} : { replaces: segmentDocumentId(replaced) }
  return {
    by: { kind: "instance" },
    action,
    target: { id: segmentDocumentId(document), type: "archive_segment" },
    metadata: { ...document, ...replaces },
  } as const
}

async function removal(
  { registry }: Pick<SegmentParts, "registry">,
  workspace: string,
  segment: ArchiveSegmentDocument | undefined,
): Promise<readonly Change[]> {
  if (segment === undefined) return []
  const stored = await registry.get("archive-segment", workspace, segmentDocumentId(segment))
  return stored === undefined ? [] : [changed(stored, null)]
}

/** Records that a segment is removed. Its bodies are in the database again, or destroyed. */
async function recordRemoval(
  { registry, ledger, clock }: Omit<SegmentParts, "archiving">,
  workspace: Workspace,
  segment: ArchiveSegmentDocument,
): Promise<void> {
  await recordPlanned({ ledger, clock }, workspace, async () => {
    const changes = await removal({ registry }, workspace.id, segment)
    return changes.length === 0
      ? undefined
      : { ...actOf("ledger.archive.remove", segment), changes }
  })
}

/**
 * Removes the destroyed content of these ranges, which are in order, from every segment and from
 * files that no document names.
 */
export async function removeFromArchive(
  parts: SegmentParts,
  workspace: string,
  ranges: readonly SequenceRange[],
): Promise<void> {
  const [first, last] = [ranges[0]?.first, ranges.at(-1)?.last]
  if (first === undefined || last === undefined) return
  const document = await required(parts.registry, "workspace", workspace, workspace)
  // Before the segments are listed: a file that is recorded meanwhile is then one of them.
  for (const { ledgerId, before, end = Infinity } of epochsOf(document))
    if (first <= end && last > before)
      await parts.archiving.discardStrays(workspace, { ledgerId: toHex(ledgerId), before }, ranges)
  const segments = await createSegmentDirectory(parts.registry).list(workspace)
  let at = 0
  const hit = segments.filter((segment) => {
    while ((ranges[at]?.last ?? Infinity) < segment.first) at += 1
    return (ranges[at]?.first ?? Infinity) <= segment.last
  })
  await removeDestroyed(parts, document, hit)
}

/** Removes destroyed content from the segment of the newest archived entries. */
export async function removeFromNewest(parts: SegmentParts, workspace: Workspace): Promise<void> {
  const segments = await createSegmentDirectory(parts.registry).list(workspace.id)
  await removeDestroyed(parts, workspace, segments.slice(-1))
}

/** Segments that are in memory at once, in their old and new form. */
const rewrittenAtOnce = 4
/** Segments whose entries commit together. */
const recordedAtOnce = 32

/**
 * Removes destroyed content from these segments: each that has some of it is rewritten, and its
 * former files are deleted. Idempotent.
 */
export async function removeDestroyed(
  parts: SegmentParts,
  workspace: Workspace,
  segments: readonly ArchiveSegmentDocument[],
): Promise<void> {
  for (let at = 0; at < segments.length; at += recordedAtOnce) {
    // Segments of which more was destroyed meanwhile are rewritten once more.
    let left: readonly ArchiveSegmentDocument[] = segments.slice(at, at + recordedAtOnce)
    while (left.length > 0) left = await rewriteSome(parts, workspace, left)
  }
}

/** The recorded segment, and which of its bodies are destroyed. */
interface SegmentState {
  readonly segment: ArchiveSegmentDocument
  readonly gone: readonly SequenceRange[]
}

/** A segment and its replacement: none if all of it is destroyed, or in the database again. */
interface Rewritten extends SegmentState {
  readonly document: ArchiveSegmentDocument | undefined
}

/**
 * Returns those that must be checked again, because another server has changed them meanwhile, or
 * more of them was destroyed.
 */
async function rewriteSome(
  parts: SegmentParts,
  workspace: Workspace,
  segments: readonly ArchiveSegmentDocument[],
): Promise<readonly ArchiveSegmentDocument[]> {
  const { registry, archiving } = parts
  const rewritten: Rewritten[] = []
  const left = new Set<ArchiveSegmentDocument>()
  await eachOf(segments, rewrittenAtOnce, async (place) => {
    const state = await stateOf(registry, workspace.id, place)
    if (state === undefined || state.gone.length === 0) return
    const { segment, gone } = state
    const isAll = gone.some(({ first, last }) => first <= segment.first && last >= segment.last)
    try {
      const document = isAll ? undefined : await archiving.without(workspace.id, segment, gone)
      rewritten.push({ ...state, document })
    } catch (error) {
      const now = await stateOf(registry, workspace.id, place)
      if (now?.segment.file === segment.file) throw error
      left.add(segment)
    }
  })
  const made = rewritten.flatMap(({ segment, gone, document }) =>
    document === undefined || document.file === segment.file
      ? []
      : [{ document, replaced: segment, lacks: isWithin(gone) }],
  )
  if (made.length > 0) await recordSegments(parts, workspace, made)
  await eachOf(rewritten, rewrittenAtOnce, async (one) => {
    if (!(await clean(parts, workspace, one))) left.add(one.segment)
  })
  return [...left]
}

/** Deletes the former files of a segment. False if the segment has changed since it was read. */
async function clean(
  parts: SegmentParts,
  workspace: Workspace,
  { segment, gone, document }: Rewritten,
): Promise<boolean> {
  const { registry, archiving } = parts
  // The files are listed before the document is read again: a server that writes a file to record
  // has seen more destroyed content, or writes it after this.
  const files = await archiving.files(segment)
  const now = await stateOf(registry, workspace.id, segment)
  const isAsBefore =
    now?.segment.file === (document ?? segment).file && isDeepStrictEqual(now.gone, gone)
  if (isAsBefore) await archiving.discard(files.filter((file) => file !== document?.file))
  // Nobody can record it any more, because the segment that it would replace is gone.
  else if (
    document !== undefined &&
    ![segment.file, document.file].includes(now?.segment.file ?? "")
  )
    await archiving.discard([document.file])
  // The file is deleted first, because nothing would find a file that no document names.
  if (isAsBefore && document === undefined) await recordRemoval(parts, workspace, segment)
  return isAsBefore
}

/** Undefined if no segment is at this place any more. */
async function stateOf(
  registry: SegmentParts["registry"],
  workspace: string,
  place: ArchiveSegmentDocument,
): Promise<SegmentState | undefined> {
  const recorded = await createSegmentDirectory(registry).list(workspace)
  const segment = segmentAt(recorded, place.first)
  if (segment === undefined) return undefined
  return { segment, gone: await destroyedBodies(registry, workspace, segment) }
}

async function eachOf<T>(
  all: readonly T[],
  atOnce: number,
  act: (one: T) => Promise<void>,
): Promise<void> {
  const waiting = all.values()
  const worker = async (): Promise<void> => {
    for (const one of waiting) await act(one)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** Puts the bodies of a segment back into the database, and then ends the segment. Idempotent. */
export async function restoreSegment(
  parts: SegmentParts,
  workspace: Workspace,
  segment: ArchiveSegmentDocument,
): Promise<void> {
  await parts.archiving.restore(workspace.id, segment)
  // The file is deleted first, because an erasure would not find one that no document names.
  await parts.archiving.discard(await parts.archiving.files(segment))
  await recordRemoval(parts, workspace, segment)
}
