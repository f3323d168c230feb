// Makes a segment from entries. Its memory is bounded: when its table is large, or has a block of
// entries, it makes a smaller segment and begins again, and merges them at the end. The bytes are
// the same.

import { assert } from "@tallystick/proof"
import type { Stored } from "../entries.ts"
import { EntryPoster } from "./entry-poster.ts"
import { EntryScanner } from "./entry-scanner.ts"
import type { StreamPart } from "./key-stream.ts"
import { PostingTable } from "./posting-table.ts"
import type { Filed } from "./search.ts"
import { filedOf, missing } from "./searchable-fields.ts"
import { createPartCache } from "./part-cache.ts"
import {
  openMade,
  openSegment,
  packSegment,
  recordOf,
  runSteps,
  type MadeSegment,
} from "./segment-format.ts"
import { mergeInto } from "./segment-merge.ts"
import { ColumnWriter, usualBlockRows } from "./segment-columns.ts"
import { SegmentWriter } from "./segment-writer.ts"
import type { SegmentParts, Steps } from "./segments.ts"
import { eachWord, type EachWord } from "./value-words.ts"

export interface SegmentBuilder {
  readonly count: number
  /** Adds an entry, in the order of sequences. Entries that the journal lacks are skipped. */
  add(stored: Stored): void
  addFiled(filed: Filed): void
  /** The journal lacks the entries up to this sequence. */
  addMissing(last: number): void
  /** The same in steps: a million entries take a third of a second. */
  addingMissing(last: number): Steps<void>
  finish(): MadeSegment
  /**
   * The same in steps, for a thread that has other work. `take` is given each part, in the order in
   * which they are kept.
   */
  finishing<P>(take: (part: StreamPart) => P): Steps<MadeSegment<P>>
}

/** The initial size of the table for each entry. It grows as needed. */
const keysPerEntry = 8
const bytesPerEntry = 160
/** The most bytes of the table; words take as much again. 65,536 ordinary entries need a third. */
const postedBytesMax = 48 * 1024 * 1024
/** Keys and words between two pauses: about a millisecond. */
const keysPerStep = 2048
/** Missing entries between two pauses. */
const missingPerStep = 256

/** `first` is the sequence of its first entry, and `entries` the most entries. */
export function createSegmentBuilder(
  first: number,
  entries: number,
  { bytesMax = postedBytesMax, blockRows = usualBlockRows } = {},
): SegmentBuilder {
  const posting = (): EntryPoster<PostingTable> => {
    const most = Math.min(entries, blockRows)
    const table = new PostingTable(most * keysPerEntry, most * bytesPerEntry)
    return new EntryPoster(new ColumnWriter(most, blockRows), () => table)
  }
  /** Finished blocks, and what was finished of the block that is not. */
  const blocks: SegmentParts[] = []
  let runs: SegmentParts[] = []
  let runFirst = first
  let next = first
  let poster = posting()
  let scanner = new EntryScanner(poster)

  const begin = (sequence: number): void => {
    assert(sequence === next && sequence < first + entries, "a segment is filled without a gap")
    const isBlock = next > runFirst && (next - first) % blockRows === 0
    if (isBlock || poster.memoryBytes > bytesMax) {
      const made = isBlock ? blockMade(asMade) : runMade()
      const packed = packSegment(runSteps(made, nothingKept))
      if (isBlock) blocks.push(packed)
      runs = isBlock ? [] : [...runs, packed]
      runFirst = next
      poster = posting()
      scanner = new EntryScanner(poster)
    }
    next++
    poster.begin()
  }
  const runMade = (): Steps<MadeSegment> => segmentOf(poster, runFirst, next - runFirst, blockRows)
  const blockMade = <P>(take: (part: StreamPart) => P): Steps<MadeSegment<P>> =>
    runs.length === 0 ? takeAll(runMade(), take) : mergeKept(runs, runMade(), take)
  const finishing = <P>(take: (part: StreamPart) => P): Steps<MadeSegment<P>> =>
    blocks.length === 0 ? blockMade(take) : mergeKept(blocks, blockMade(asMade), take)
  const addFiled = (filed: Filed): void => {
    begin(filed.sequence)
    poster.filed(filed)
  }
  const addMissing = (last: number): void => {
    while (next <= last) addFiled(missing(next))
  }

  function* addingMissing(last: number): Steps<void> {
    for (; next <= last; yield) addMissing(Math.min(last, next + missingPerStep - 1))
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
    addingMissing,
    finish: () => runSteps(finishing(asMade), nothingKept),
    finishing,
  }
}

const asMade = (part: StreamPart): StreamPart => part
const nothingKept = (): undefined => undefined

/** Merges segments that are packed in memory, and one that follows them. */
function* mergeKept<P>(
  packed: readonly SegmentParts[],
  making: Steps<MadeSegment>,
  take: (part: StreamPart) => P,
): Steps<MadeSegment<P>> {
  const last = openMade(yield* making)
  const opened = packed.map(([header = new Uint8Array()]) =>
    openSegment(header, createPartCache(0)),
  )
  const partsOf = new Map(opened.map((segment, at) => [segment.hash, packed[at]]))
  const steps = mergeInto([...opened, last], take)
  for (let step = steps.next(); ; yield) {
    if (step.done === true) return step.value
    const asked = step.value
    step = steps.next(asked && partsOf.get(asked.segment.hash)?.[asked.part])
  }
}

/** Lists are written beside their keys, and parts are taken in the order in which they are kept. */
function* takeAll<P>(
  making: Steps<MadeSegment>,
  take: (part: StreamPart) => P,
): Steps<MadeSegment<P>> {
  const { facts, streams } = yield* making
  return { facts, streams: recordOf((name) => streams[name].map(take)) }
}

function* segmentOf(
  { table, groups, columns }: EntryPoster<PostingTable>,
  first: number,
  count: number,
  blockRows: number,
): Steps<MadeSegment> {
  const writer = new SegmentWriter(count, blockRows, asMade)
  const ranks = groups.ranks()
  yield
  const order = table.sorted(ranks, groups.prefixes.length)
  yield
  const { items, starts } = table.lists()
  const words = new PostingTable(Math.max(table.count >>> 1, 16), Math.max(table.end >>> 1, 64))
  const key = new JoinedKey()
  let textTag = -1
  const postWord: EachWord = (from, start, end) => {
    const arena = words.room(end - start)
    for (let at = start, place = words.end; at < end; at++) arena[place++] = from[at] ?? 0
    words.post(textTag, end - start)
  }
  for (let group = -1, at = 0; at < order.length; at++) {
    if (at % keysPerStep === 0) yield
    const number = order[at] ?? 0
    const [start, end] = [starts[number] ?? 0, starts[number + 1] ?? 0]
    // A key that an entry had before it was read otherwise.
    if (start === end) continue
    const groupOfKey = table.groups[number] ?? 0
    if (group !== groupOfKey) {
      group = groupOfKey
      key.prefix = groups.prefixes[group] ?? nothing
      textTag = textTags.indexOf(key.prefix.at(-1) ?? 0)
    }
    key.join(table.arena, table.starts[number] ?? 0, table.endOf(number))
    writer.key(key.bytes, key.length)
    writer.entries(items, start, end)
    words.begin()
    if (textTag >= 0) eachWord(key.bytes, key.prefix.length, key.length, postWord)
  }
  yield* writeWords(writer, words)
  return yield* writer.finish(first, yield* columns.finish(count, asMade))
}

const nothing = Buffer.alloc(0)

/** What all keys of a group begin with, and the rest of one of them. */
class JoinedKey {
  bytes: Buffer = Buffer.alloc(1024)
  length = 0
  #prefix: Buffer = nothing

  get prefix(): Buffer {
    return this.#prefix
  }

  set prefix(prefix: Buffer) {
    this.#prefix = prefix
    if (prefix.length > this.bytes.length) this.bytes = Buffer.alloc(prefix.length * 2)
    prefix.copy(this.bytes)
  }

  /** Byte by byte: most are short, and a call of `copy` costs more. */
  join(from: Buffer, start: number, end: number): void {
    let place = this.#prefix.length
    this.length = place + end - start
    if (this.length > this.bytes.length) this.bytes = Buffer.concat([this.#prefix], this.length * 2)
    const { bytes } = this
    for (let at = start; at < end; at++) bytes[place++] = from[at] ?? 0
  }
}

/** The rank of the tag of a word's value; values with another tag have no words. */
const textTags = Buffer.from("ANT")

function* writeWords(writer: SegmentWriter<StreamPart>, words: PostingTable): Steps<void> {
  const order = words.sorted(Uint32Array.of(0, 1, 2), textTags.length)
  yield
  const { items, starts } = words.lists()
  const word = new JoinedKey()
  for (let group = -1, at = 0; at < order.length; at++) {
    if (at % keysPerStep === 0) yield
    const number = order[at] ?? 0
    const groupOfWord = words.groups[number] ?? 0
    if (group !== groupOfWord) {
      group = groupOfWord
      word.prefix = textTags.subarray(group, group + 1)
    }
    word.join(words.arena, words.starts[number] ?? 0, words.endOf(number))
    writer.word(word.bytes, word.length)
    writer.values(items, starts[number] ?? 0, starts[number + 1] ?? 0)
  }
}
