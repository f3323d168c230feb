// The reference driver of segments.

import { hashOfHeader } from "./segment-format.ts"
import { lastOf } from "./segment-plan.ts"
import { assert } from "@tallystick/proof"
import type { KeptSegment, SegmentKeeper, SegmentName, SegmentParts } from "./segments.ts"

interface Kept extends KeptSegment {
  readonly parts: SegmentParts
}

export function createMemorySegments(): SegmentKeeper {
  const kept = new Map<string, readonly Kept[]>()
  const staged = new Map<string, Uint8Array[]>()
  const stagedAs = (workspace: string, { level, k }: SegmentName): string =>
    JSON.stringify([workspace, level, k])
  const of = (workspace: string): readonly Kept[] => kept.get(workspace) ?? []
  return {
    list: async (workspace) => of(workspace).map(({ parts: _, ...segment }) => segment),
    part: async (workspace, name, part) =>
      of(workspace).find((segment) => isSame(segment, name))?.parts[part],
    async put(workspace, name, given, absorbed, before) {
      const gone = [name, ...absorbed]
      const others = of(workspace).filter((one) => !gone.some((other) => isSame(one, other)))
      const own = before === undefined ? [] : staged.get(stagedAs(workspace, name))
      assert(own?.length === (before?.count ?? 0), "all parts were staged")
      const parts = [...given, ...own]
      staged.delete(stagedAs(workspace, name))
      const bytes = parts.reduce((sum, part) => sum + part.length, 0)
      const put = { ...name, parts, bytes, hash: hashOfHeader(parts) }
      kept.set(
        workspace,
        [...others, put].toSorted((one, other) => lastOf(one) - lastOf(other)),
      )
    },
    async stage(workspace, name, from, parts) {
      assert(!of(workspace).some((one) => isSame(one, name)), "a listed segment is not staged")
      const own = staged.get(stagedAs(workspace, name)) ?? []
      own.splice(from - 1, parts.length, ...parts)
      staged.set(stagedAs(workspace, name), own)
    },
    async sweep(workspace) {
      const beginning = JSON.stringify([workspace]).slice(0, -1)
      const found = staged.keys().find((key) => key.startsWith(`${beginning},`))
      return found !== undefined && staged.delete(found)
    },
    clearLog: async () => true,
  }
}

function isSame(one: SegmentName, other: SegmentName): boolean {
  return one.level === other.level && one.k === other.k
}
