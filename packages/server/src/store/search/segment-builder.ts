// Makes a segment from entries. Its memory is bounded: when its table is large, it makes a smaller
// segment and begins again, and merges them at the end. The bytes are the same.

import { strict as assert } from "node:assert"
import type { Stored } from "../store.ts"
import { EntryPoster } from "./entry-poster.ts"
import { EntryScanner } from "./entry-scanner.ts"
import { isTextTag } from "./key-groups.ts"
import { PostingTable } from "./posting-table.ts"
import type { Filed } from "./search.ts"
import { filedOf, missing } from "./searchable-fields.ts"
import { createPartCache, openMade, openSegment, packSegment, runSteps } from "./segment-format.ts"
import type { MadeSegment } from "./segment-format.ts"
import { mergeSegments } from "./segment-merge.ts"
import { SegmentWriter } from "./segment-writer.ts"
import type { SegmentParts, Steps } from "./segments.ts"
import { eachWord } from "./value-words.ts"

export interface SegmentBuilder {
  /** Entries so far. */
  readonly count: number
  /** Adds an entry, in the order of sequences. Entries that the journal lacks are skipped. */
  add(stored: Stored): void
  addFiled(filed: Filed): void
  /** The journal lacks the entries up to this sequence. */
  addMissing(last: number): void
  finish(): MadeSegment
  /** The same in steps, for a thread that has other work. It asks for no parts. */
  finishing(): Steps<MadeSegment>
}

/** The most bytes of the table; words take as much again. 65,536 ordinary entries need a third. */
const postedBytesMax = 48 * 1024 * 1024
/** Keys and words between two pauses: about a millisecond. */
const keysPerStep = 2048

/** `first` is the sequence of its first entry, and `entries` the most entries. */
export function createSegmentBuilder(
  first: number,
  entries: number,
  bytesMax = postedBytesMax,
): SegmentBuilder {
  const runs: SegmentParts[] = []
  let runFirst = first
  let next = first
  let poster = new EntryPoster(entries)
  let scanner = new EntryScanner(poster)

  const begin = (sequence: number): void => {
    assert(sequence === next && sequence < first + entries, "a segment is filled without a gap")
    if (poster.memoryBytes > bytesMax) {
      runs.push(packSegment(runSteps(made(), nothingKept)))
      runFirst = next
      poster = new EntryPoster(entries)
      scanner = new EntryScanner(poster)
    }
    next++
    poster.begin()
  }
  const made = (): Steps<MadeSegment> => segmentOf(poster, runFirst, next - runFirst)
  const addFiled = (filed: Filed): void => {
    begin(filed.sequence)
    poster.filed(filed)
  }
  const addMissing = (last: number): void => {
    while (next <= last) addFiled(missing(next))
  }

  function* finishing(): Steps<MadeSegment> {
    const last = yield* made()
    if (runs.length === 0) return last
    const opened = runs.map((parts) =>
      openSegment(parts[0] ?? new Uint8Array(), createPartCache(0)),
    )
    const partsOf = new Map(opened.map((segment, at) => [segment.hash, runs[at]]))
    const steps = mergeSegments([...opened, openMade(last)])
    for (let step = steps.next(); ; yield) {
      if (step.done === true) return step.value
      const asked = step.value
      step = steps.next(asked && partsOf.get(asked.segment.hash)?.[asked.part])
    }
  }

  return {
    get count() {
      return next - first
    },
    add(stored) {
      addMissing(stored.sequence - 1)
      begin(stored.sequence)
      if (!scanner.scan(stored)) poster.filed(filedOf(stored))
    },
    addFiled,
    addMissing,
    finish: () => runSteps(finishing(), nothingKept),
    finishing,
  }
}

const nothingKept = (): undefined => undefined

function* segmentOf(
  { table, groups, columns }: EntryPoster,
  first: number,
  count: number,
): Steps<MadeSegment> {
  const writer = new SegmentWriter(count)
  const ranks = groups.ranks()
  yield
  const order = table.sorted(ranks, groups.prefixes.length)
  yield
  const { items, starts } = table.lists()
  const words = new PostingTable(Math.max(table.count >>> 1, 16), Math.max(table.end >>> 1, 64))
  let key = Buffer.alloc(1024)
  for (const [at, number] of order.entries()) {
    if (at % keysPerStep === 0) yield
    const [start, end] = [starts[number] ?? 0, starts[number + 1] ?? 0]
    // A key that an entry had before it was read otherwise.
    if (start === end) continue
    const prefix = groups.prefixes[table.groups[number] ?? 0] ?? nothing
    const valueStart = table.starts[number] ?? 0
    const length = prefix.length + table.endOf(number) - valueStart
    if (length > key.length) key = Buffer.alloc(length * 2)
    prefix.copy(key)
    table.arena.copy(key, prefix.length, valueStart, valueStart + length - prefix.length)
    writer.key(key, length, items, start, end)
    words.begin()
    postWords(words, key, prefix, length)
  }
  yield* writeWords(writer, words)
  return writer.finish(first, columns)
}

const nothing = Buffer.alloc(0)

/** The rank of the tag of a word's value. */
const textTags = Buffer.from("ANT")

function postWords(words: PostingTable, key: Buffer, prefix: Buffer, length: number): void {
  const tag = prefix.at(-1) ?? 0
  const group = textTags.indexOf(tag)
  if (!isTextTag(tag) || group < 0) return
  eachWord(key, prefix.length, length, (from, start, end) => {
    const arena = words.room(end - start)
    for (let at = start; at < end; at++) arena[words.end + at - start] = from[at] ?? 0
    words.post(group, end - start)
  })
}

function* writeWords(writer: SegmentWriter, words: PostingTable): Steps<void> {
  const order = words.sorted(Uint32Array.of(0, 1, 2), textTags.length)
  yield
  const { items, starts } = words.lists()
  let word = Buffer.alloc(256)
  for (const [at, number] of order.entries()) {
    if (at % keysPerStep === 0) yield
    const wordStart = words.starts[number] ?? 0
    const length = 1 + words.endOf(number) - wordStart
    if (length > word.length) word = Buffer.alloc(length * 2)
    word[0] = textTags[words.groups[number] ?? 0] ?? 0
    words.arena.copy(word, 1, wordStart, wordStart + length - 1)
    writer.word(word, length, items, starts[number] ?? 0, starts[number + 1] ?? 0)
  }
}
