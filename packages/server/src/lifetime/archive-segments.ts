// Records archive segments: that one was made, that one was written anew because something in it was
// destroyed, and that one is no more. A document changes together with its entry, and files are
// deleted only after that.

import type { SegmentArchiving, WrittenSegment } from "../followers/segment-archiving.ts"
import { createSegmentDirectory } from "../store/archive/segment-directory.ts"
import { readGone } from "../store/destroyed.ts"
import {
  changed,
  created,
  segmentDocumentId,
  type ArchiveSegmentDocument,
} from "../store/documents.ts"
import type { Change, Document } from "../store/store.ts"
import { recordPlanned, type AdminParts } from "../workspace/admin-entries.ts"

export interface SegmentParts extends Pick<AdminParts, "registry" | "ledger" | "clock"> {
  readonly archiving: SegmentArchiving
}

/** False if the segment has something that is destroyed by now, or is in another one. */
export async function recordSegment(
  { registry, ledger, clock }: SegmentParts,
  workspace: Document<"workspace">,
  { document, missing }: WrittenSegment,
  replaced?: ArchiveSegmentDocument,
): Promise<boolean> {
  const directory = createSegmentDirectory(registry)
  const recorded = await recordPlanned({ ledger, clock }, workspace, async () => {
    const others = (await directory.list(workspace.id)).filter(
      ({ file }) => file !== replaced?.file,
    )
    const isTaken = others.some(
      ({ first, last }) => first <= document.last && last >= document.first,
    )
    const gone = await destroyedIn(registry, workspace.id, document)
    const absent = new Set(missing)
    if (isTaken || gone.some((sequence) => !absent.has(sequence))) return undefined
    const changes = [created("archive-segment", segmentDocumentId(document), document)]
    return {
      ...actOf("ledger.archive.segment", document, replaced),
      changes: [...changes, ...(await removal({ registry }, workspace.id, replaced))],
    }
  })
  return recorded !== undefined
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

/** Records that a segment is no more. Its bodies are in the database again, or destroyed. */
async function recordRemoval(
  { registry, ledger, clock }: Omit<SegmentParts, "archiving">,
  workspace: Document<"workspace">,
  segment: ArchiveSegmentDocument,
): Promise<void> {
  await recordPlanned({ ledger, clock }, workspace, async () => {
    const changes = await removal({ registry }, workspace.id, segment)
    return changes.length === 0
      ? undefined
      : { ...actOf("ledger.archive.remove", segment), changes }
  })
}

async function destroyedIn(
  registry: SegmentParts["registry"],
  workspace: string,
  { first, last }: ArchiveSegmentDocument,
): Promise<readonly number[]> {
  const sequences = Array.from({ length: last - first + 1 }, (_, at) => first + at)
  const gone = await readGone(registry, workspace, sequences)
  return sequences.filter((sequence) => gone(sequence)?.what === "body")
}

/**
 * Removes what was destroyed from these segments: each that has some of it is written anew, and its
 * former files are deleted. May be done again.
 */
export async function removeDestroyed(
  parts: SegmentParts,
  workspace: Document<"workspace">,
  segments: readonly ArchiveSegmentDocument[],
): Promise<void> {
  const { archiving, registry } = parts
  for (const segment of segments) {
    for (let isDone = false; !isDone;) {
      const gone = await destroyedIn(registry, workspace.id, segment)
      if (gone.length === 0) break
      const left = await archiving.without(workspace.id, segment, gone)
      if (left === undefined) await recordRemoval(parts, workspace, segment)
      // False if more of it was destroyed meanwhile.
      isDone =
        left === undefined ||
        left.document.file === segment.file ||
        (await recordSegment(parts, workspace, left, segment))
      if (isDone) await archiving.clean(segment, left?.document)
    }
  }
}

/** Puts the bodies of a segment back into the database, and then ends the segment. */
export async function restoreSegment(
  parts: SegmentParts,
  workspace: Document<"workspace">,
  segment: ArchiveSegmentDocument,
): Promise<void> {
  await parts.archiving.restore(workspace.id, segment)
  await recordRemoval(parts, workspace, segment)
  await parts.archiving.clean(segment, undefined)
}
