// Records which key occurs in which items. A key is the number of a group and bytes; items are
// numbered in order. It holds values with their entries, and words with their values. It is a hash
// table over one long buffer: an entry has twenty keys, and an object for each would cost most.

import { randomFillSync } from "node:crypto"
import type { Postings } from "./entry-poster.ts"
import { KeySort } from "./key-sort.ts"

/** The factor of FNV-1a. */
const hashFactor = 0x01000193

export class PostingTable implements Postings {
  /** The bytes of all keys, end to end. A new key is written at `end`. */
  arena: Buffer
  end = 0
  /** The number of different keys. */
  count = 0
  items = 0

  /** For each key: the offset of its bytes, its group, its hash, its last item. */
  starts: Uint32Array
  groups: Uint32Array
  #hashes: Int32Array
  #lastItem: Int32Array
  /** The hash table: numbers of keys plus one; 0 is free. */
  #slots: Int32Array
  /**
   * What each byte is hashed as. Writers choose the bytes of keys: if they knew the hash, they could
   * write values that all have the same, and each would be compared with all others.
   */
  readonly #hashBytes = randomFillSync(new Int32Array(256))

  /** The keys' numbers of all items, end to end, and the start of each item. */
  #posted: Uint32Array
  #postedCount = 0
  #itemStarts: Uint32Array

  constructor(keys: number, bytes: number) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(keys, 16)))
    this.arena = Buffer.allocUnsafeSlow(bytes)
    this.starts = new Uint32Array(size)
    this.groups = new Uint32Array(size)
    this.#hashes = new Int32Array(size)
    this.#lastItem = new Int32Array(size)
    this.#slots = new Int32Array(size * 2)
    this.#posted = new Uint32Array(size)
    this.#itemStarts = new Uint32Array(1024)
  }

  /** The memory of the table, approximately. */
  get memoryBytes(): number {
    return this.end + this.count * 32 + this.#postedCount * 4
  }

  /** The arena, with room for so many bytes at `end`. */
  room(bytes: number): Buffer {
    if (this.end + bytes > this.arena.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(this.end + bytes, this.arena.length * 2))
      this.arena.copy(larger, 0, 0, this.end)
      this.arena = larger
    }
    return this.arena
  }

  begin(): void {
    if (this.items === this.#itemStarts.length) this.#itemStarts = doubled(this.#itemStarts)
    this.#itemStarts[this.items++] = this.#postedCount
  }

  /** Removes all keys of the last item. A key that only this item had stays, without items. */
  undo(): void {
    const start = this.#itemStarts[this.items - 1] ?? 0
    for (let at = start; at < this.#postedCount; at++) this.#lastItem[this.#posted[at] ?? 0] = 0
    this.#postedCount = start
  }

  post(group: number, length: number): void {
    const { arena, end } = this
    const hashBytes = this.#hashBytes
    let hash = group ^ length
    for (let at = end; at < end + length; at++)
      hash = Math.imul(hash ^ (hashBytes[arena[at] ?? 0] ?? 0), hashFactor)
    const key = this.#numberOf(group, length, Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d))
    if (this.#lastItem[key] === this.items) return
    this.#lastItem[key] = this.items
    if (this.#postedCount === this.#posted.length) this.#posted = doubled(this.#posted)
    this.#posted[this.#postedCount++] = key
  }

  #numberOf(group: number, length: number, hash: number): number {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let slot = (hash ^ (hash >>> 13)) & mask; ; slot = (slot + 1) & mask) {
      const key = (slots[slot] ?? 0) - 1
      if (key < 0) {
        slots[slot] = this.count + 1
        return this.#add(group, length, hash)
      }
      if (this.#hashes[key] === hash && this.groups[key] === group && this.#isEqual(key, length))
        return key
    }
  }

  #isEqual(key: number, length: number): boolean {
    const { arena, end } = this
    const start = this.starts[key] ?? 0
    if (this.endOf(key) - start !== length) return false
    for (let at = 0; at < length; at++) if (arena[start + at] !== arena[end + at]) return false
    return true
  }

  #add(group: number, length: number, hash: number): number {
    const key = this.count++
    this.starts[key] = this.end
    this.groups[key] = group
    this.#hashes[key] = hash
    this.#lastItem[key] = 0
    this.end += length
    if (this.count === this.starts.length) this.#grow()
    return key
  }

  #grow(): void {
    this.starts = doubled(this.starts)
    this.groups = doubled(this.groups)
    this.#hashes = doubled(this.#hashes)
    this.#lastItem = doubled(this.#lastItem)
    const slots = new Int32Array(this.#slots.length * 2)
    const mask = slots.length - 1
    for (let key = 0; key < this.count; key++) {
      const hash = this.#hashes[key] ?? 0
      let slot = (hash ^ (hash >>> 13)) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = key + 1
    }
    this.#slots = slots
  }

  endOf(key: number): number {
    return key + 1 < this.count ? (this.starts[key + 1] ?? 0) : this.end
  }

  /** The items of every key, ascending: those of key `k` from `starts[k]` to `starts[k + 1]`. */
  lists(): { readonly items: Uint32Array; readonly starts: Uint32Array } {
    const starts = new Uint32Array(this.count + 1)
    for (let at = 0; at < this.#postedCount; at++) {
      const next = (this.#posted[at] ?? 0) + 1
      starts[next] = (starts[next] ?? 0) + 1
    }
    for (let key = 1; key <= this.count; key++)
      starts[key] = (starts[key] ?? 0) + (starts[key - 1] ?? 0)
    const items = new Uint32Array(this.#postedCount)
    const free = starts.slice()
    for (let item = 0, at = 0; item < this.items; item++) {
      const end = item + 1 < this.items ? (this.#itemStarts[item + 1] ?? 0) : this.#postedCount
      for (; at < end; at++) {
        const key = this.#posted[at] ?? 0
        const place = free[key] ?? 0
        items[place] = item
        free[key] = place + 1
      }
    }
    return { items, starts }
  }

  /** The numbers of all keys, sorted by their groups' ranks and then by their bytes. */
  sorted(rankOf: Uint32Array, ranks: number): Uint32Array {
    const ends = new Uint32Array(ranks + 1)
    for (let key = 0; key < this.count; key++) {
      const next = (rankOf[this.groups[key] ?? 0] ?? 0) + 1
      ends[next] = (ends[next] ?? 0) + 1
    }
    for (let rank = 1; rank <= ranks; rank++) ends[rank] = (ends[rank] ?? 0) + (ends[rank - 1] ?? 0)
    const order = new Uint32Array(this.count)
    const free = ends.slice()
    for (let key = 0; key < this.count; key++) {
      const rank = rankOf[this.groups[key] ?? 0] ?? 0
      const place = free[rank] ?? 0
      order[place] = key
      free[rank] = place + 1
    }
    const sort = new KeySort(this, order)
    for (let rank = 0; rank < ranks; rank++) sort.run(ends[rank] ?? 0, ends[rank + 1] ?? 0)
    return order
  }
}

function doubled<T extends Uint32Array | Int32Array>(array: T): T {
  // The same class as the one that was given.
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2)
  larger.set(array)
  return larger
}
