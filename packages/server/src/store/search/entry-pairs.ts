// What a segment has to say of entries, without making it: the sum of their keys (pair-sums.ts), and
// the columns.

import type { Stored } from "../entries.ts"
import { EntryPoster, type Postings } from "./entry-poster.ts"
import { EntryScanner } from "./entry-scanner.ts"
import type { KeyGroups } from "./key-groups.ts"
import { KeysOfNumbers, type PairHash, type PairSum } from "./pair-sums.ts"
import { filedOf, missing } from "./searchable-fields.ts"
import type { ColumnWriter, MadeColumns } from "./segment-columns.ts"
import { runSteps, sumOf, type PartSum } from "./segment-format.ts"

export interface EntryPairs {
  /** Of each key with each entry that has it, whose place is counted from the segment's first. */
  readonly sum: PairSum
  readonly columns: MadeColumns<PartSum>
}

/** Of names that are remembered. */
const groupBytesMax = 16 * 1024 * 1024

/** Reads entries, the first of which has this place in its segment. */
export class EntryAdder {
  readonly #columns: ColumnWriter
  readonly #table: SummedKeys
  #next: number
  #poster: EntryPoster
  #scanner: EntryScanner

  /** There are as many entries as the columns have places. */
  constructor(first: number, place: number, columns: ColumnWriter, hash: PairHash) {
    this.#next = first
    this.#columns = columns
    this.#table = new SummedKeys(hash, place)
    ;[this.#poster, this.#scanner] = this.#posting()
  }

  /** In the order of sequences. What is missing before it is skipped. */
  add(stored: Stored): void {
    this.addMissing(stored.sequence - 1)
    this.#begin()
    if (!this.#scanner.scan(stored)) this.#poster.filed(filedOf(stored))
  }

  addMissing(last: number): void {
    while (this.#next <= last) {
      const entry = missing(this.#next)
      this.#begin()
      this.#poster.filed(entry)
    }
  }

  finish(): EntryPairs {
    const columns = runSteps(this.#columns.finish(this.#table.items, sumOf), () => undefined)
    return { sum: this.#table.sum(), columns }
  }

  #begin(): void {
    if (this.#poster.memoryBytes > groupBytesMax) [this.#poster, this.#scanner] = this.#posting()
    this.#next++
    this.#poster.begin()
  }

  #posting(): [EntryPoster, EntryScanner] {
    const poster = new EntryPoster<Postings>(this.#columns, (groups) => this.#table.of(groups))
    return [poster, new EntryScanner(poster)]
  }
}

class SummedKeys implements Postings {
  readonly #hash: PairHash
  readonly #keys: KeysOfNumbers
  readonly #place: number
  #groups: KeyGroups | undefined
  /** What the beginnings of keys give. */
  #ones: number[] = []
  #others: number[] = []
  #bytes = Buffer.allocUnsafeSlow(4096)
  readonly end = 0
  readonly memoryBytes = 0
  items = 0

  constructor(hash: PairHash, place: number) {
    this.#hash = hash
    this.#keys = new KeysOfNumbers(hash)
    this.#place = place
  }

  of(groups: KeyGroups): this {
    this.#groups = groups
    this.#ones = []
    this.#others = []
    return this
  }

  room(bytes: number): Buffer {
    if (bytes > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(bytes * 2)
    return this.#bytes
  }

  begin(): void {
    this.#keys.begin(this.#place + this.items++)
  }

  undo(): void {
    this.#keys.undo()
  }

  post(group: number, length: number): void {
    const one = this.#ones[group] ?? this.#first(group)
    this.#keys.add(one, this.#others[group] ?? 0, this.#bytes, 0, length)
  }

  sum(): PairSum {
    return this.#keys.sum()
  }

  #first(group: number): number {
    const hash = this.#hash
    hash.long(this.#groups?.prefixes[group] ?? new Uint8Array(), true)
    this.#ones[group] = hash.one
    this.#others[group] = hash.other
    return hash.one
  }
}
