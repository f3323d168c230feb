// The simplest search, which checks every entry. All others are compared with it.

import { strict as assert } from "node:assert"
import { findableOf, matches, type Findable } from "../search/matching.ts"
import type { Filed, Hits, Wanted } from "../search/search.ts"

export interface PlainSearch {
  position(workspace: string): Promise<number>
  find(workspace: string, wanted: Wanted, before: number, limit: number): Promise<Hits>
  file(workspace: string, entries: readonly Filed[]): void
}

export function createPlainSearch(): PlainSearch {
  const kept = new Map<string, readonly Findable[]>()
  const filedIn = (workspace: string): readonly Findable[] => kept.get(workspace) ?? []

  return {
    position: async (workspace) => filedIn(workspace).length,
    async find(workspace, wanted, before, limit) {
      const entries = filedIn(workspace)
      const hits = entries
        .filter((entry) => matches(entry, wanted))
        .map(({ filed: { sequence } }) => sequence)
        .toReversed()
      const below = hits.filter((sequence) => sequence < before)
      return {
        sequences: below.slice(0, limit),
        hasMore: below.length > limit,
        total: hits.length,
        end: entries.length,
      }
    },
    file(workspace, entries) {
      const before = filedIn(workspace)
      for (const [place, { sequence }] of entries.entries())
        assert.equal(sequence, before.length + place + 1, "entries follow each other without a gap")
      kept.set(workspace, [...before, ...entries.map(findableOf)])
    },
  }
}
