// The reference driver of a search: every entry is looked at.

import { strict as assert } from "node:assert"
import { findableOf, matches, type Findable } from "./matching.ts"
import type { Search } from "./search.ts"

export function createMemorySearch(): Search {
  const kept = new Map<string, Findable[]>()
  const filedIn = (workspace: string): readonly Findable[] => kept.get(workspace) ?? []

  const search: Search = {
    position: async (workspace) => filedIn(workspace).length,
    async find(workspace, wanted, before, limit) {
      const hits = filedIn(workspace)
        .filter((entry) => matches(entry, wanted))
        .map(({ filed: { sequence } }) => sequence)
        .toReversed()
      const below = hits.filter((sequence) => sequence < before)
      return { sequences: below.slice(0, limit), hasMore: below.length > limit, total: hits.length }
    },
    file: (workspace, entries) => search.fileAll([{ workspace, entries }]),
    async fileAll(batches) {
      const made = batches.map(({ workspace, entries }) => ({
        workspace,
        entries: [...entries].map(findableOf),
      }))
      for (const { workspace, entries } of made) {
        const before = filedIn(workspace)
        for (const [
          place,
          {
            filed: { sequence },
          },
        ] of entries.entries())
          assert.equal(sequence, before.length + place + 1, "a search is filled without a gap")
      }
      for (const { workspace, entries } of made)
        kept.set(workspace, [...filedIn(workspace), ...entries])
    },
  }
  return search
}
