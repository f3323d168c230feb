// Writes a segment: all keys in order and, beside them or afterwards, their lists of entries; then
// all words in order with their lists of keys; and, at the end, the unions of lists.

import { nameEnd, nameJoin } from "./key-groups.ts"
import { compareBytes, KeyWriter, type StreamPart } from "./key-stream.ts"
import { ListWriter, unionNumbers, UnionWriter, type ListCursor } from "./list-stream.ts"
import type { MadeColumns } from "./segment-columns.ts"
import type { MadeSegment } from "./segment-format.ts"
import type { Steps } from "./segments.ts"

export class SegmentWriter<P> {
  readonly #take: (part: StreamPart) => P
  readonly #keys: KeyWriter<P>
  readonly #entries: ListWriter<P>
  readonly #words: KeyWriter<P>
  #values: ListWriter<P> | undefined
  readonly count: number
  /** Whether it has a whole block: smaller segments have few lists. */
  readonly #hasUnions: boolean
  readonly #entryUnions: UnionWriter | undefined
  #valueUnions: UnionWriter | undefined
  /** Lists of more than one name that keys begin with, in order. */
  readonly #namesTogether: Uint8Array[] = []

  constructor(count: number, blockRows: number, take: (part: StreamPart) => P) {
    this.count = count
    this.#hasUnions = count >= blockRows
    this.#entryUnions = this.#unionsBelow(count)
    this.#take = take
    this.#keys = new KeyWriter(take)
    this.#entries = new ListWriter(count, take)
    this.#words = new KeyWriter(take)
  }

  get keyCount(): number {
    return this.#keys.items.count
  }

  /** False if it is not above the previous one, as all must be. */
  key(key: Uint8Array, length: number): boolean {
    const names = namesEnd(key, length)
    const last = this.#namesTogether.at(-1)
    if (names >= 0 && (last === undefined || compareBytes(last, last.length, key, names) !== 0))
      this.#namesTogether.push(Uint8Array.from(key.subarray(0, names)))
    return this.#keys.add(key, length)
  }

  /** The entries of the next key. */
  entries(numbers: Uint32Array, start: number, end: number): void {
    this.#entries.add(numbers, start, end)
    this.#entryUnions?.add(numbers, start, end)
  }

  /** Those of the next key, if another segment of as many entries has the same. */
  entriesAs(list: ListCursor): void {
    this.#entries.addAs(list)
    this.#entryUnions?.addAs(list)
  }

  /** The same of words. */
  word(word: Uint8Array, length: number): boolean {
    return this.#words.add(word, length)
  }

  /** The keys of the next word, when all keys are written: their number says how lists are kept. */
  values(keys: Uint32Array, start: number, end: number): void {
    if (this.#values === undefined) {
      this.#values = new ListWriter(this.keyCount, this.#take)
      this.#valueUnions = this.#unionsBelow(this.keyCount)
    }
    this.#values.add(keys, start, end)
    this.#valueUnions?.add(keys, start, end)
  }

  /** Finishes the last part of what was written until now. */
  end(): void {
    for (const writer of [this.#keys, this.#entries, this.#words, this.#values])
      writer?.items.finish()
  }

  *finish(first: number, { parts, ...columns }: MadeColumns<P>): Steps<MadeSegment<P>> {
    this.end()
    const entryUnions = yield* this.#taken(this.#entryUnions)
    const valueUnions = yield* this.#taken(this.#valueUnions)
    return {
      facts: {
        first,
        count: this.count,
        keys: this.keyCount,
        words: this.#words.items.count,
        ...columns,
        namesTogether: this.#namesTogether,
        entryUnions: this.#entryUnions?.spans ?? [],
        valueUnions: this.#valueUnions?.spans ?? [],
      },
      streams: {
        keys: this.#keys.items.parts,
        entries: this.#entries.items.parts,
        words: this.#words.items.parts,
        values: this.#values?.items.parts ?? [],
        ...parts,
        entryUnions,
        valueUnions,
      },
    }
  }

  #unionsBelow(most: number): UnionWriter | undefined {
    return this.#hasUnions ? new UnionWriter(unionNumbers(this.count), most) : undefined
  }

  /** A part in a step. */
  *#taken(unions: UnionWriter | undefined): Steps<P[]> {
    const taken: P[] = []
    for (const part of unions?.finish() ?? []) {
      taken.push(this.#take(part))
      yield
    }
    return taken
  }
}

/** Where the names of a key end, if it has more than one; else -1. */
function namesEnd(key: Uint8Array, length: number): number {
  let areSeveral = false
  for (let at = 0; at < length; at++) {
    if (key[at] === nameEnd) return areSeveral ? at : -1
    // What begins so is a filter.
    if (key[at] === nameJoin) {
      if (at === 0) return -1
      areSeveral = true
    }
  }
  return -1
}
