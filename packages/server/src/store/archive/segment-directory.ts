// Finds the segment with the body of an entry, by the documents of the registry. At each look-up
// the cached list is compared with the registry: if content of a segment was destroyed, its former
// file must not be read any more.

import { firstWhere } from "../../runtime/first-where.ts"
import { every } from "../all-documents.ts"
import type { ArchiveSegmentDocument } from "../documents.ts"
import type { Registry } from "../store.ts"

export interface SegmentDirectory {
  /** In the order of their entries. */
  list(workspace: string): Promise<readonly ArchiveSegmentDocument[]>
}

interface Known {
  /**
   * Changes with every change of the list, because a new segment has a new document and a removed
   * one is missing.
   */
  readonly state: string
  readonly segments: readonly ArchiveSegmentDocument[]
}

export function createSegmentDirectory(
  registry: Pick<Registry, "list" | "count">,
): SegmentDirectory {
  const known = new Map<string, Known>()
  return {
    async list(workspace) {
      const state = await stateOf(registry, workspace)
      const before = known.get(workspace)
      if (before?.state === state) return before.segments
      const segments = (await Array.fromAsync(every(registry, "archive-segment", workspace)))
        .map(({ value }) => value)
        .toSorted((a, b) => a.first - b.first)
      known.set(workspace, { state, segments })
      return segments
    },
  }
}

async function stateOf(
  registry: Pick<Registry, "list" | "count">,
  workspace: string,
): Promise<string> {
  const [newest] = await registry.list("archive-segment", workspace, undefined, 1)
  if (newest === undefined) return ""
  const count = await registry.count("archive-segment", workspace)
  return `${newest.id} ${newest.version} ${newest.created} ${count}`
}

/**
 * The segment that contains this sequence: the last one that begins at or before it, if it reaches
 * that far.
 */
export function segmentAt(
  segments: readonly ArchiveSegmentDocument[],
  sequence: number,
): ArchiveSegmentDocument | undefined {
  const found = segments[firstWhere(segments, ({ first }) => first > sequence) - 1]
  return found !== undefined && sequence <= found.last ? found : undefined
}
