// A test aid: compares segments of random entries with the plain filter.

import { strict as assert } from "node:assert"
import { findableOf, matches } from "../store/search/matching.ts"
import { filedOf } from "../store/search/searchable-fields.ts"
import { createSegmentBuilder } from "../store/search/segment-builder.ts"
import { createPartCache } from "../store/search/part-cache.ts"
import {
  openMade,
  openSegment,
  packSegment,
  runSteps,
  type Segment,
} from "../store/search/segment-format.ts"
import { matchesIn } from "../store/search/segment-query.ts"
import type { SegmentParts } from "../store/search/segments.ts"
import type { Stored } from "../store/entries.ts"
import { storedBy, wantedBy } from "./test-entries.ts"
import type { Chance } from "../../../../test/chance.ts"

/** Asks random questions, and returns how many had matches. */
export function compareSegments(chance: Chance, rounds: number, questions: number): number {
  let answered = 0
  for (let round = 0; round < rounds; round++) {
    const first = 1 + chance.below(3) * 1000
    const entries = Array.from({ length: 20 + chance.below(220) }, (_, at) =>
      storedBy(chance, first + at),
    )
    // Segments have many blocks, or one.
    const bounds = round % 2 === 0 ? { blockRows: 16 } : {}
    const builder = createSegmentBuilder(first, entries.length, bounds)
    for (const entry of entries) builder.add(entry)
    const made = builder.finish()
    const parts = packSegment(made)
    // Each part is read from the store each time, or all are cached.
    const kept = openSegment(parts[0] ?? new Uint8Array(), createPartCache(0))
    const inMemory = openMade(made)
    const turns = [kept, inMemory, inMemory, inMemory]
    answered += compareAnswers(chance, turns, parts, entries, questions)
  }
  return answered
}

/** Asks segments of the same entries in turn, and returns how many questions had matches. */
export function compareAnswers(
  chance: Chance,
  segments: readonly Segment[],
  parts: SegmentParts,
  entries: readonly Stored[],
  questions: number,
): number {
  let answered = 0
  const filed = entries.map(filedOf)
  const findable = filed.map(findableOf)
  for (let asked = 0; asked < questions; asked++) {
    const wanted = wantedBy(chance, filed)
    const expected = findable
      .filter((entry) => matches(entry, wanted))
      .map((entry) => entry.filed.sequence)
      .toReversed()
    const steps = matchesIn(segments[asked % segments.length] ?? assert.fail("a segment"), wanted)
    const found = runSteps(steps, (_, part) => parts[part])
    const what = JSON.stringify(wanted)
    assert.equal(found.count, expected.length, what)
    assert.deepEqual(found.newestBelow(Infinity, 1e9), expected, what)
    const [before, limit] = [chance.below(4000), 1 + chance.below(20)]
    const below = expected.filter((sequence) => sequence < before).slice(0, limit)
    assert.deepEqual(found.newestBelow(before, limit), below, what)
    if (found.count > 0) answered++
  }
  return answered
}
