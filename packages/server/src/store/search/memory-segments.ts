// The reference driver of segments.

import { hashOfHeader } from "./segment-format.ts"
import { lastOf } from "./segment-plan.ts"
import type { KeptSegment, SegmentKeeper, SegmentName, SegmentParts } from "./segments.ts"

interface Kept extends KeptSegment {
  readonly parts: SegmentParts
}

export function createMemorySegments(): SegmentKeeper {
  const kept = new Map<string, readonly Kept[]>()
  const of = (workspace: string): readonly Kept[] => kept.get(workspace) ?? []
  return {
    list: async (workspace) => of(workspace).map(({ parts: _, ...segment }) => segment),
    part: async (workspace, name, part) =>
      of(workspace).find((segment) => isSame(segment, name))?.parts[part],
    async put(workspace, name, parts, absorbed) {
      const gone = [name, ...absorbed]
      const others = of(workspace).filter((one) => !gone.some((other) => isSame(one, other)))
      const bytes = parts.reduce((sum, part) => sum + part.length, 0)
      const put = { ...name, parts, bytes, hash: hashOfHeader(parts) }
      kept.set(
        workspace,
        [...others, put].toSorted((one, other) => lastOf(one) - lastOf(other)),
      )
    },
    clearLog: async () => true,
  }
}

function isSame(one: SegmentName, other: SegmentName): boolean {
  return one.level === other.level && one.k === other.k
}
