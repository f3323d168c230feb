// Reads a segment straight through and writes it again. What comes out is what is kept if that has
// the one form that a segment of its keys, lists and columns has. Which pairs of keys and entries,
// and of words and keys, its lists have is added up (pair-sums.ts).

import { startLength, textTagOf, owners } from "./key-groups.ts"
import { isAt } from "./metadata-paths.ts"
import type { KeyCursor } from "./key-stream.ts"
import { KeysOfNumbers, NumbersOfKeys, type PairHash, type PairSum } from "./pair-sums.ts"
import type { MadeColumns } from "./segment-columns.ts"
import { sumOf, type MadeSegment, type PartSum, type Segment } from "./segment-format.ts"
import { ListedKeys, Range, type Dictionary } from "./segment-lookup.ts"
import { SegmentWriter } from "./segment-writer.ts"
import type { Steps } from "./segments.ts"
import { eachWord, type EachWord } from "./value-words.ts"

export interface Rewritten {
  readonly made: MadeSegment<PartSum>
  /** Of each key with the entries of its list. */
  readonly entries: PairSum
  /** Of each word with the keys of its list, and with the keys whose values have it. */
  readonly listed: PairSum
  readonly words: PairSum
}

/** With columns that were made of its entries. Throws `RangeError` for what is no segment. */
export function* rewriteSegment(
  segment: Segment,
  columns: MadeColumns<PartSum>,
  hash: PairHash,
): Steps<Rewritten> {
  const writer = new SegmentWriter(segment.count, columns.blockRows, sumOf)
  const [entries, listed] = [new NumbersOfKeys(hash), new NumbersOfKeys(hash)]
  const words = new KeysOfNumbers(hash)
  const [start, tag] = [new KeyStart(hash), new KeyStart(hash)]
  const postWord: EachWord = (from, wordStart, wordEnd) =>
    words.add(tag.one, tag.other, from, wordStart, wordEnd)
  yield* eachList(segment, "keys", ({ key, length }, numbers, count) => {
    if (!start.isOf(key, length)) start.set(key, startLength(key, length))
    hash.key(start.one, start.other, key, start.length, length)
    entries.add(numbers, count)
    words.begin(writer.keyCount)
    if (start.hasWords) {
      if (!tag.isOf(start.tag, 1)) tag.set(start.tag, 1)
      eachWord(key, start.length, length, postWord)
    }
    const isAbove = writer.key(key, length)
    writer.entries(numbers, 0, count)
    return isAbove
  })
  writer.end()
  yield* eachList(segment, "words", ({ key, length }, numbers, count) => {
    if (!tag.isOf(key, length)) tag.set(key, 1)
    hash.key(tag.one, tag.other, key, 1, length)
    listed.add(numbers, count)
    const isAbove = writer.word(key, length)
    writer.values(numbers, 0, count)
    return isAbove
  })
  const made = yield* writer.finish(segment.first, columns)
  return { made, entries: entries.sum(), listed: listed.sum(), words: words.sum() }
}

/** Visits keys or words with their lists. A visit returns whether the key is above the one before. */
function* eachList(
  segment: Segment,
  of: Dictionary,
  visit: (key: KeyCursor, numbers: Uint32Array, count: number) => boolean,
): Steps<void> {
  const { facts, streams } = segment
  const total = facts[of]
  const most = of === "keys" ? segment.count : facts.keys
  for (const stream of of === "keys"
    ? (["keys", "entries"] as const)
    : (["words", "values"] as const))
    if (total > 0 && streams[stream][0]?.first !== 0) throw new RangeError("not the first item")
  const shown = new ListedKeys(segment, of, new Range(0, total))
  let numbers = new Uint32Array(1024)
  while (shown.number + 1 < total) {
    if (!shown.advance()) yield* shown.load()
    const { key, list } = shown
    const { count } = list
    if (count > numbers.length) numbers = new Uint32Array(count * 2)
    list.copyTo(numbers, 0, 0)
    let least = 0
    for (let at = 0; at < count; at++) {
      const number = numbers[at] ?? 0
      if (number < least || number >= most) throw new RangeError("not a list in order")
      least = number + 1
    }
    if (!visit(key, numbers, count)) throw new RangeError("not keys in order")
  }
}

const textTags = owners.map(textTagOf)

/** What keys that follow each other begin with: the names of a field and its tag, or a filter. */
class KeyStart {
  readonly #hash: PairHash
  #bytes: Uint8Array = new Uint8Array()
  one = 0
  other = 0
  tag: Uint8Array = new Uint8Array()
  hasWords = false

  constructor(hash: PairHash) {
    this.#hash = hash
  }

  get length(): number {
    return this.#bytes.length
  }

  isOf(key: Uint8Array, length: number): boolean {
    return this.length > 0 && length >= this.length && isAt(this.#bytes, key, 0)
  }

  set(key: Uint8Array, length: number): void {
    this.#bytes = Uint8Array.from(key.subarray(0, length))
    this.tag = this.#bytes.slice(-1)
    this.hasWords = textTags.includes(this.tag[0] ?? 0)
    this.#hash.long(this.#bytes, true)
    this.one = this.#hash.one
    this.other = this.#hash.other
  }
}
