// Writes a segment: all keys in order with their entries, then all words in order with their keys.

import { nameEnd, nameJoin } from "./key-groups.ts"
import { compareBytes, KeyWriter } from "./key-stream.ts"
import { ListWriter } from "./list-stream.ts"
import type { ColumnWriter } from "./segment-columns.ts"
import type { MadeSegment } from "./segment-format.ts"

export class SegmentWriter {
  readonly #keys = new KeyWriter()
  readonly #entries: ListWriter
  #words: KeyWriter | undefined
  #values: ListWriter | undefined
  readonly #count: number
  /** Lists of more than one name that keys begin with, in order. */
  readonly #namesTogether: Uint8Array[] = []

  constructor(count: number) {
    this.#count = count
    this.#entries = new ListWriter(count)
  }

  get keyCount(): number {
    return this.#keys.items.count
  }

  key(key: Uint8Array, length: number, entries: Uint32Array, start: number, end: number): void {
    this.#keys.add(key, length)
    this.#entries.add(entries, start, end)
    const names = namesEnd(key, length)
    const last = this.#namesTogether.at(-1)
    if (names < 0 || (last !== undefined && compareBytes(last, last.length, key, names) === 0))
      return
    this.#namesTogether.push(Uint8Array.from(key.subarray(0, names)))
  }

  /** When all keys are written: what their lists are told by. */
  word(word: Uint8Array, length: number, keys: Uint32Array, start: number, end: number): void {
    this.#words ??= new KeyWriter()
    this.#values ??= new ListWriter(this.keyCount)
    this.#words.add(word, length)
    this.#values.add(keys, start, end)
  }

  finish(first: number, columns: ColumnWriter): MadeSegment {
    const { occurred, made, parts } = columns.finish(this.#count)
    const [keys, entries] = [this.#keys.items, this.#entries.items]
    const [words, values] = [this.#words?.items, this.#values?.items]
    for (const items of [keys, entries, words, values]) items?.finish()
    return {
      facts: {
        first,
        count: this.#count,
        keys: keys.count,
        words: words?.count ?? 0,
        occurred,
        made,
        namesTogether: this.#namesTogether,
      },
      streams: {
        keys: keys.parts,
        entries: entries.parts,
        words: words?.parts ?? [],
        values: values?.parts ?? [],
        ...parts,
      },
    }
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
