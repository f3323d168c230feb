// Finds the entry of an idempotency key or a receipt, without making each commit write to random
// pages of a B-tree.
//
// Entries are counted by `n` across all workspaces. Each 65,536 of them are a *run*. Once a run is
// complete, its keys and receipts are put into 256 buckets, each a row of fixed-width pieces (the
// last ten characters, then the entry's place in the run as four hex digits), and its keys into a
// Bloom filter that says "certainly not here" for all but 6 of 10,000 keys. The entries after the
// last complete run are the *tail*, which is kept in memory and read again at a start. A bucket is
// read only if the filter reports a possible hit. Two keys may have the same end, so a piece only
// names the entry to compare. Filling a run writes 257 rows, at any size of the ledger.

import { assert } from "@tallystick/proof"

export const runEntries = 65_536
export const buckets = 256
/**
 * Fifty bits of a receipt, and more of a key: two of one run have the same end once in 500,000
 * runs.
 */
const endChars = 10
const placeDigits = 4
export const pieceChars = endChars + placeDigits

const filterBits = 2 ** 20
const filterProbes = 8

export interface KeyRow {
  readonly n: number
  readonly idem: string | undefined
  readonly receipt: string
}

export interface Run {
  readonly filter: Uint8Array
  readonly keys: readonly string[]
  readonly receipts: readonly string[]
  readonly lowestReceipt: string
  readonly highestReceipt: string
}

/** The run of an entry, and its place in that run. `n` counts from 1. */
export function runOf(n: number): number {
  return Math.floor((n - 1) / runEntries)
}

/** The entries of a run. Where one is missing, a read of so many goes on into the next run. */
export function* entriesOf<R extends { readonly n: number }>(
  { places }: { readonly places: (after: number, limit: number) => Iterable<R> },
  run: number,
): Generator<R> {
  for (const place of places(run * runEntries, runEntries)) if (runOf(place.n) === run) yield place
}

/** Makes a run from all of its entries, in the order of `n`. */
export function makeRun(run: number, rows: Iterable<KeyRow>): Run {
  const filter = new Uint8Array(filterBits / 8)
  const keys = createBuckets()
  const receipts = createBuckets()
  let lowestReceipt = ""
  let highestReceipt = ""
  for (const { n, idem, receipt } of rows) {
    assert(runOf(n) === run, "an entry goes into its own run")
    const place = (n - 1) % runEntries
    receipts.add(receipt, place)
    if (lowestReceipt === "" || receipt < lowestReceipt) lowestReceipt = receipt
    if (receipt > highestReceipt) highestReceipt = receipt
    if (idem === undefined) continue
    keys.add(idem, place)
    const { start, step } = probe(idem)
    for (let count = 0, at = start; count < filterProbes; count++, at = bitAfter(at, step))
      filter[at >>> 3] = (filter[at >>> 3] ?? 0) | (1 << (at & 7))
  }
  return { filter, keys: keys.texts(), receipts: receipts.texts(), lowestReceipt, highestReceipt }
}

interface Buckets {
  add(key: string, place: number): void
  /** The text of each bucket, with its pieces in the order of their addition. */
  texts(): readonly string[]
}

/**
 * Collects pieces as bytes in one buffer and sorts them at the end. Texts that grow piece by piece
 * would create some 400,000 strings, and the garbage collector would move each of them twice.
 */
function createBuckets(): Buckets {
  const pieces = Buffer.alloc(runEntries * pieceChars)
  /** The bucket of each piece. */
  const owners: number[] = []
  const counts = new Uint32Array(buckets)
  return {
    add(key, place) {
      const bucket = bucketOf(key)
      counts[bucket] = (counts[bucket] ?? 0) + 1
      const at = owners.push(bucket) * pieceChars - pieceChars
      const first = key.length - endChars
      for (let char = 0; char < endChars; char++)
        pieces[at + char] = first + char < 0 ? padding : key.charCodeAt(first + char)
      for (let digit = 0; digit < placeDigits; digit++)
        pieces[at + endChars + digit] = hexDigits[(place >>> (12 - 4 * digit)) & 15] ?? 0
    },
    texts() {
      const sorted = Buffer.alloc(owners.length * pieceChars)
      const ends = new Uint32Array(buckets)
      for (let bucket = 1; bucket < buckets; bucket++)
        ends[bucket] = (ends[bucket - 1] ?? 0) + (counts[bucket - 1] ?? 0) * pieceChars
      for (const [piece, bucket] of owners.entries()) {
        const from = piece * pieceChars
        const to = ends[bucket] ?? 0
        for (let char = 0; char < pieceChars; char++) sorted[to + char] = pieces[from + char] ?? 0
        ends[bucket] = to + pieceChars
      }
      let start = 0
      return Array.from(ends, (end) => sorted.latin1Slice(start, (start = end)))
    },
  }
}

/**
 * The positions of a key's bits in every filter. Keys are digests already, so two numbers from
 * their characters are as good as many hashes.
 */
export interface Probe {
  readonly start: number
  readonly step: number
}

export function probe(idem: string): Probe {
  return {
    start: (spread(idem, 0, 11, 0x811c9dc5) >>> 4) & (filterBits - 1),
    step: (spread(idem, 11, idem.length, 0x9e3779b9) >>> 4) | 1,
  }
}

/** Never larger than a filter, so that it stays a small integer. */
function bitAfter(bit: number, step: number): number {
  return (bit + step) & (filterBits - 1)
}

/** False if the run certainly has no such key. */
export function mayHold(filter: Uint8Array, { start, step }: Probe): boolean {
  for (let count = 0, at = start; count < filterProbes; count++, at = bitAfter(at, step))
    if (((filter[at >>> 3] ?? 0) & (1 << (at & 7))) === 0) return false
  return true
}

export const joinedFilters = 32

/**
 * Makes one array of the filters of 32 runs: bit r of its number p is bit p of filter r. A look-up
 * mostly waits for memory, and eight numbers then answer for all of them.
 */
export function joinFilters(filters: readonly Uint8Array[]): Int32Array {
  assert(filters.length === joinedFilters, "as many filters as a number has bits")
  const joined = new Int32Array(filterBits)
  const views = filters.map((filter) => new DataView(filter.buffer, filter.byteOffset))
  const square = new Int32Array(joinedFilters)
  for (let bit = 0; bit < filterBits; bit += joinedFilters) {
    for (const [row, view] of views.entries()) square[row] = view.getInt32(bit / 8, true)
    transpose(square)
    joined.set(square, bit)
  }
  return joined
}

/** Turns rows of bits into columns: exchanges quarters, the quarters of these, and so on. */
function transpose(square: Int32Array): void {
  for (let side = 16, mask = 0xffff; side > 0; side >>= 1, mask ^= mask << side) {
    for (let row = 0; row < square.length; row = ((row | side) + 1) & ~side) {
      const [upper, lower] = [square[row] ?? 0, square[row | side] ?? 0]
      const differing = ((upper >>> side) ^ lower) & mask
      square[row] = upper ^ (differing << side)
      square[row | side] = lower ^ differing
    }
  }
}

/** A bit for each of 32 joined runs: 0 if the run certainly has no such key. */
export function joinedMayHold(joined: Int32Array, { start, step }: Probe): number {
  let left = -1
  // All eight numbers are read, so that none of these reads waits for another.
  for (let count = 0, at = start; count < filterProbes; count++, at = bitAfter(at, step))
    left &= joined[at] ?? 0
  return left
}

export function bucketOf(key: string): number {
  return spread(key, key.length - 8, key.length, 0) & (buckets - 1)
}

/** The entries of a run whose keys have the same end as this one: none, one, rarely two. */
export function* findInBucket(run: number, bucket: string, key: string): Generator<number> {
  const end = endOf(key)
  for (let at = bucket.indexOf(end); at >= 0; at = bucket.indexOf(end, at + 1))
    if (at % pieceChars === 0) yield entryAt(run, bucket, at)
}

/** The number of the entry that the piece at this position names. */
export function entryAt(run: number, bucket: string, at: number): number {
  const place = bucket.slice(at + endChars, at + pieceChars)
  return run * runEntries + Number.parseInt(place, 16) + 1
}

function endOf(key: string): string {
  return key.slice(-endChars).padStart(endChars)
}

const padding = 0x20
const hexDigits = Buffer.from("0123456789abcdef")

function spread(text: string, from: number, to: number, seed: number): number {
  let mixed = seed
  for (let at = Math.max(from, 0); at < to; at++)
    mixed = Math.imul(mixed ^ text.charCodeAt(at), 0x01000193)
  return mixed ^ (mixed >>> 15)
}
