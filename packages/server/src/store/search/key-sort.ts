// Sorts runs of keys by their bytes, four at a time: four bytes, how many the key has left there, and
// its place in the run are one number of 64 bits, and numbers are sorted by the engine. Keys that
// have the same four bytes, and more behind them, are a run again.

import { assert } from "@tallystick/proof"
import type { PostingTable } from "./posting-table.ts"

const chunkBytes = 4
const placeBits = 24
const placeMask = 2 ** placeBits - 1
/** Comparing is faster for so few keys. */
const smallRun = 8

export class KeySort {
  readonly #table: PostingTable
  readonly #order: Uint32Array
  readonly #numbers: BigUint64Array
  /** Of each number the lower half, and then the upper one. */
  readonly #halves: Uint32Array
  readonly #copy: Uint32Array

  /** Sorts parts of `order`, numbers of different keys of the table. */
  constructor(table: PostingTable, order: Uint32Array) {
    assert(order.length <= placeMask, "a key's place in its run has 24 bits")
    this.#table = table
    this.#order = order
    this.#halves = new Uint32Array(order.length * 2)
    this.#numbers = new BigUint64Array(this.#halves.buffer)
    this.#copy = new Uint32Array(order.length)
  }

  /** Without recursion: keys that are prefixes of each other would make it too deep. */
  run(start: number, end: number): void {
    const runs = [{ from: start, to: end, known: 0 }]
    for (let run = runs.pop(); run !== undefined; run = runs.pop()) {
      const { from, to, known } = run
      if (to - from <= smallRun) {
        this.#insert(from, to, known)
        continue
      }
      const depth = known + this.#inCommon(from, to, known)
      this.#sortByChunk(from, to, depth)
      for (let first = from, next = from + 1; next <= to; next++) {
        if (next < to && this.#isSameChunk(first, next)) continue
        if (next - first > 1) runs.push({ from: first, to: next, known: depth + chunkBytes })
        first = next
      }
    }
  }

  #sortByChunk(from: number, to: number, depth: number): void {
    const order = this.#order
    const copy = this.#copy
    const halves = this.#halves
    const { arena, starts } = this.#table
    for (let at = from; at < to; at++) {
      const key = order[at] ?? 0
      const start = (starts[key] ?? 0) + depth
      const left = this.#table.endOf(key) - start
      // A key that ends here comes before those that continue with zeros.
      halves[at * 2] = (Math.min(left, chunkBytes + 1) << placeBits) | (at - from)
      let chunk = 0
      for (let place = 0; place < chunkBytes; place++)
        chunk = (chunk << 8) | (place < left ? (arena[start + place] ?? 0) : 0)
      halves[at * 2 + 1] = chunk
      copy[at] = key
    }
    this.#numbers.subarray(from, to).sort()
    for (let at = from; at < to; at++)
      order[at] = copy[from + ((halves[at * 2] ?? 0) & placeMask)] ?? 0
  }

  #isSameChunk(one: number, other: number): boolean {
    const halves = this.#halves
    return (
      halves[one * 2 + 1] === halves[other * 2 + 1] &&
      (halves[one * 2] ?? 0) >>> placeBits === (halves[other * 2] ?? 0) >>> placeBits
    )
  }

  /** How many more bytes they all share. */
  #inCommon(from: number, to: number, known: number): number {
    const { arena, starts } = this.#table
    const first = this.#order[from] ?? 0
    const start = (starts[first] ?? 0) + known
    let common = this.#table.endOf(first) - start
    for (let at = from + 1; at < to && common > 0; at++) {
      const key = this.#order[at] ?? 0
      const other = (starts[key] ?? 0) + known
      const most = Math.min(common, this.#table.endOf(key) - other)
      common = 0
      while (common < most && arena[start + common] === arena[other + common]) common++
    }
    return common
  }

  #insert(from: number, to: number, known: number): void {
    const order = this.#order
    for (let at = from + 1; at < to; at++) {
      const key = order[at] ?? 0
      let place = at
      while (place > from && this.#compare(order[place - 1] ?? 0, key, known) > 0) {
        order[place] = order[place - 1] ?? 0
        place--
      }
      order[place] = key
    }
  }

  #compare(one: number, other: number, known: number): number {
    const { arena, starts } = this.#table
    const [a, b] = [(starts[one] ?? 0) + known, (starts[other] ?? 0) + known]
    const [aEnd, bEnd] = [this.#table.endOf(one), this.#table.endOf(other)]
    const most = Math.min(aEnd - a, bEnd - b)
    for (let at = 0; at < most; at++) {
      const difference = (arena[a + at] ?? 0) - (arena[b + at] ?? 0)
      if (difference !== 0) return difference
    }
    return aEnd - a - (bEnd - b)
  }
}
