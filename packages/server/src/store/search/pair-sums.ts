// Compares two sets of pairs, of a key and a number, without holding either: each is added up with
// numbers that only this run knows. Whoever made the sets without knowing these cannot make two that
// differ and have the same sum, but with a probability of some 2^-55.
//
// The bytes of a key are looked up in random tables, one for each place. So two keys give the same
// with a probability of 2^-64; but four may cancel each other out, so what they give is mixed. The
// same is done with numbers. A pair is a product of both, so the numbers of a key, or the keys of a
// number, are added first.

import { createCipheriv, hash } from "node:crypto"

/** Places of bytes that have tables. Few values are longer. */
const placesMax = 64
const rowsOfTable = 256
/** Behind those of bytes: a table of lengths, and of each byte of a number. */
const lengths = placesMax * rowsOfTable
const numberBytes = lengths + rowsOfTable
const rows = numberBytes + 4 * rowsOfTable

/** What is random for one run. */
export class PairHash {
  readonly #secret: Uint8Array
  /** Of each row one number, and then the other one. */
  readonly #table: Int32Array
  /** Of what was hashed last. */
  one = 0
  other = 0

  /** `secret` has 32 bytes. */
  constructor(secret: Uint8Array) {
    this.#secret = secret
    const stream = createCipheriv("aes-256-ctr", secret, Buffer.alloc(16))
    this.#table = new Int32Array(Uint8Array.from(stream.update(Buffer.alloc(rows * 8))).buffer)
  }

  /** Of what keys begin with, or else of a long rest of one. It takes a microsecond. */
  long(bytes: Uint8Array, isStart: boolean): void {
    const kind = Buffer.of(isStart ? 1 : 0)
    const hashed = hash("sha256", Buffer.concat([this.#secret, kind, bytes]), "buffer")
    this.one = hashed.readInt32LE(0)
    this.other = hashed.readInt32LE(4)
  }

  /** Of a key: of what it begins with these, and the bytes of its rest. */
  key(one: number, other: number, bytes: Uint8Array, start: number, end: number): void {
    const table = this.#table
    const length = end - start
    let [a, b] = [one, other]
    if (length > placesMax) {
      this.long(bytes.subarray(start, end), false)
      a ^= this.one
      b ^= this.other
    } else {
      let row = (lengths + length) * 2
      a ^= table[row] ?? 0
      b ^= table[row + 1] ?? 0
      for (let at = start, first = 0; at < end; at++, first += rowsOfTable) {
        row = (first + (bytes[at] ?? 0)) * 2
        a ^= table[row] ?? 0
        b ^= table[row + 1] ?? 0
      }
    }
    this.one = mixed(a)
    this.other = mixed(b)
  }

  number(number: number): void {
    const table = this.#table
    let [a, b] = [0, 0]
    for (let byte = 0, first = numberBytes; byte < 32; byte += 8, first += rowsOfTable) {
      const row = (first + ((number >>> byte) & 0xff)) * 2
      a ^= table[row] ?? 0
      b ^= table[row + 1] ?? 0
    }
    this.one = mixed(a)
    this.other = mixed(b)
  }
}

/** As MurmurHash3 ends. */
function mixed(given: number): number {
  let bits = given ^ (given >>> 16)
  bits = Math.imul(bits, 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

export interface PairSum {
  readonly one: number
  readonly other: number
}

export function isSameSum(one: PairSum, other: PairSum): boolean {
  return one.one === other.one && one.other === other.other
}

export function totalOf(sums: readonly PairSum[]): PairSum {
  return sums.reduce(
    ({ one, other }, sum) => ({ one: (one + sum.one) | 0, other: (other + sum.other) | 0 }),
    { one: 0, other: 0 },
  )
}

/** Adds the keys of one number after another. Each counts once, as often as it is added. */
export class KeysOfNumbers {
  readonly #hash: PairHash
  #one = 0
  #other = 0
  #number = 0
  /** The keys of this number. */
  #ones = 0
  #others = 0
  #count = 0
  /** A hash table of them. What has another turn is of a number before. */
  #seen = new Int32Array(256)
  #turns = new Int32Array(128)
  #turn = 0

  constructor(hash: PairHash) {
    this.#hash = hash
  }

  begin(number: number): void {
    this.#end()
    this.#number = number
  }

  /** Removes all keys of the current number. */
  undo(): void {
    this.#ones = this.#others = this.#count = 0
    this.#turn++
  }

  /** A key of it, as it is hashed. */
  add(one: number, other: number, bytes: Uint8Array, start: number, end: number): void {
    const hashed = this.#hash
    hashed.key(one, other, bytes, start, end)
    if (!this.#isNew(hashed.one, hashed.other)) return
    this.#ones = (this.#ones + hashed.one) | 0
    this.#others = (this.#others + hashed.other) | 0
    if (++this.#count * 2 > this.#turns.length) this.#grow()
  }

  sum(): PairSum {
    this.#end()
    return { one: this.#one, other: this.#other }
  }

  #end(): void {
    if (this.#count > 0) {
      const hashed = this.#hash
      hashed.number(this.#number)
      this.#one = (this.#one + Math.imul(this.#ones, hashed.one)) | 0
      this.#other = (this.#other + Math.imul(this.#others, hashed.other)) | 0
    }
    this.undo()
  }

  #isNew(one: number, other: number): boolean {
    const seen = this.#seen
    const turns = this.#turns
    const mask = turns.length - 1
    let slot = one & mask
    for (; turns[slot] === this.#turn; slot = (slot + 1) & mask)
      if (seen[slot * 2] === one && seen[slot * 2 + 1] === other) return false
    turns[slot] = this.#turn
    seen[slot * 2] = one
    seen[slot * 2 + 1] = other
    return true
  }

  #grow(): void {
    const [seen, turns] = [this.#seen, this.#turns]
    this.#seen = new Int32Array(seen.length * 2)
    this.#turns = new Int32Array(turns.length * 2)
    for (let slot = 0; slot < turns.length; slot++)
      if (turns[slot] === this.#turn) this.#isNew(seen[slot * 2] ?? 0, seen[slot * 2 + 1] ?? 0)
  }
}

/** Adds the numbers of one key after another. */
export class NumbersOfKeys {
  readonly #hash: PairHash
  #one = 0
  #other = 0

  constructor(hash: PairHash) {
    this.#hash = hash
  }

  /** These of the key that was hashed last. */
  add(numbers: Uint32Array, count: number): void {
    const hashed = this.#hash
    const { one, other } = hashed
    let [ones, others] = [0, 0]
    for (let at = 0; at < count; at++) {
      hashed.number(numbers[at] ?? 0)
      ones = (ones + hashed.one) | 0
      others = (others + hashed.other) | 0
    }
    this.#one = (this.#one + Math.imul(one, ones)) | 0
    this.#other = (this.#other + Math.imul(other, others)) | 0
  }

  sum(): PairSum {
    return { one: this.#one, other: this.#other }
  }
}
