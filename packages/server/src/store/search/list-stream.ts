// Lists of numbers, ascending, each below a number that all of them share, `most`. In parts of
// about 32 KiB, cut as those of keys:
//
//     u32 · ⌈n/16⌉   where each sixteenth list begins, counted from the first
//     n lists        varint count, and then, by how many there are:
//                      all      nothing
//                      ≥ most/8 a bitmap: bit i & 7 of byte i >>> 3 is the number i
//                      1        varint of the number
//                      else     varint bytes · varint of the first · varints of what follows, less the one before, less 1

import { ItemWriter, restartEvery, varintAt } from "./key-stream.ts"

export class ListWriter {
  readonly items = new ItemWriter()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** The numbers from `start` to `end`. There is at least one. */
  add(numbers: Uint32Array, start: number, end: number): void {
    const { items } = this
    const { body } = items
    const count = end - start
    items.begin()
    body.varint(count)
    if (count === this.#most) {
      // All of them.
    } else if (isBitmap(count, this.#most)) {
      const bytes = bytesFor(this.#most)
      body.reserve(bytes)
      body.bytes.fill(0, body.length, body.length + bytes)
      for (let at = start; at < end; at++) {
        const number = numbers[at] ?? 0
        const place = body.length + (number >>> 3)
        body.bytes[place] = (body.bytes[place] ?? 0) | (1 << (number & 7))
      }
      body.length += bytes
    } else if (count === 1) body.varint(numbers[start] ?? 0)
    else this.#deltas(numbers, start, end)
    items.end()
  }

  #deltas(numbers: Uint32Array, start: number, end: number): void {
    const { body } = this.items
    let bytes = 0
    for (let at = start, before = -1; at < end; at++) {
      const number = numbers[at] ?? 0
      bytes += varintBytes(number - before - 1)
      before = number
    }
    body.varint(bytes)
    for (let at = start, before = -1; at < end; at++) {
      const number = numbers[at] ?? 0
      body.varint(number - before - 1)
      before = number
    }
  }
}

function isBitmap(count: number, most: number): boolean {
  return count * 8 >= most
}

function bytesFor(most: number): number {
  return Math.ceil(most / 8)
}

function varintBytes(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5
}

/** Reads the lists of one part in order, from any of them on. */
export class ListCursor {
  readonly #raw: Uint8Array
  readonly #view: DataView
  readonly #most: number
  readonly #bodyAt: number
  readonly #place = { at: 0 }
  #index = -1
  /** How many numbers the shown list has, and where they are told. */
  count = 0
  #dataAt = 0
  #nextAt: number

  constructor(raw: Uint8Array, lists: number, most: number) {
    this.#raw = raw
    this.#view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength)
    this.#most = most
    this.#bodyAt = Math.ceil(lists / restartEvery) * 4
    this.#nextAt = this.#bodyAt
  }

  /** Shows the list at a place. */
  goTo(index: number): void {
    if (index < this.#index || index - this.#index > restartEvery) {
      const restart = Math.floor(index / restartEvery)
      this.#nextAt = this.#bodyAt + this.#view.getUint32(restart * 4, true)
      this.#index = restart * restartEvery - 1
    }
    while (this.#index < index) this.next()
  }

  /** Shows the next list. Whoever asks knows that there is one. */
  next(): void {
    const place = this.#place
    const raw = this.#raw
    place.at = this.#nextAt
    this.#index++
    this.count = varintAt(raw, place)
    if (this.count < 1 || this.count > this.#most) throw new RangeError("not a list")
    let bytes = 0
    if (this.count === this.#most) bytes = 0
    else if (isBitmap(this.count, this.#most)) bytes = bytesFor(this.#most)
    else if (this.count > 1) bytes = varintAt(raw, place)
    this.#dataAt = place.at
    if (this.count === 1 && !isBitmap(1, this.#most)) varintAt(raw, place)
    this.#nextAt = place.at + bytes
    if (this.#nextAt > raw.length) throw new RangeError("not a list")
  }

  /** What it takes to look at it, nearly, in bytes and numbers. */
  get work(): number {
    return 8 + (isBitmap(this.count, this.#most) ? bytesFor(this.#most) : this.count)
  }

  /** Adds its numbers to a set. */
  addTo(set: NumberSet): void {
    if (this.count === this.#most) {
      set.addAll()
      return
    }
    if (isBitmap(this.count, this.#most)) {
      set.addBytes(this.#raw, this.#dataAt, bytesFor(this.#most))
      return
    }
    const place = this.#place
    place.at = this.#dataAt
    for (let left = this.count, number = -1; left > 0; left--) {
      number += varintAt(this.#raw, place) + 1
      set.add(number)
    }
  }

  /** How many of its numbers a set has. */
  countIn(set: NumberSet): number {
    if (this.count === this.#most) return set.count()
    if (isBitmap(this.count, this.#most))
      return set.countBytes(this.#raw, this.#dataAt, bytesFor(this.#most))
    const place = this.#place
    place.at = this.#dataAt
    let found = 0
    for (let left = this.count, number = -1; left > 0; left--) {
      number += varintAt(this.#raw, place) + 1
      if (set.has(number)) found++
    }
    return found
  }

  /** Its numbers plus `more`, written into an array from a place on. */
  copyTo(numbers: Uint32Array, start: number, more: number): void {
    const place = this.#place
    place.at = this.#dataAt
    let at = start
    if (this.count === this.#most) {
      for (let number = 0; number < this.#most; number++) numbers[at++] = number + more
    } else if (isBitmap(this.count, this.#most)) {
      for (let number = 0; number < this.#most; number++)
        if (((this.#raw[this.#dataAt + (number >>> 3)] ?? 0) >>> (number & 7)) & 1)
          numbers[at++] = number + more
    } else {
      for (let left = this.count, number = -1; left > 0; left--) {
        number += varintAt(this.#raw, place) + 1
        numbers[at++] = number + more
      }
    }
  }
}

/** A set of numbers below `most`, as bits. */
export class NumberSet {
  readonly most: number
  readonly words: Uint32Array
  readonly #bytes: Uint8Array

  constructor(most: number) {
    this.most = most
    this.words = new Uint32Array(Math.ceil(most / 32))
    // Bit i & 7 of byte i >>> 3 is bit i & 31 of word i >>> 5 where integers are little-endian,
    // which all platforms of Node are.
    this.#bytes = new Uint8Array(this.words.buffer)
  }

  copy(): NumberSet {
    const copy = new NumberSet(this.most)
    copy.words.set(this.words)
    return copy
  }

  has(number: number): boolean {
    return (((this.words[number >>> 5] ?? 0) >>> (number & 31)) & 1) === 1
  }

  add(number: number): void {
    this.words[number >>> 5] = (this.words[number >>> 5] ?? 0) | (1 << (number & 31))
  }

  delete(number: number): void {
    this.words[number >>> 5] = (this.words[number >>> 5] ?? 0) & ~(1 << (number & 31))
  }

  addAll(): void {
    this.addRange(0, this.most)
  }

  addRange(from: number, to: number): void {
    let number = from
    for (; number < to && (number & 31) !== 0; number++) this.add(number)
    for (; number + 32 <= to; number += 32) this.words[number >>> 5] = 0xffffffff
    for (; number < to; number++) this.add(number)
  }

  addBytes(raw: Uint8Array, at: number, length: number): void {
    const bytes = this.#bytes
    for (let place = 0; place < length; place++)
      bytes[place] = (bytes[place] ?? 0) | (raw[at + place] ?? 0)
  }

  countBytes(raw: Uint8Array, at: number, length: number): number {
    const bytes = this.#bytes
    let count = 0
    for (let place = 0; place < length; place++)
      count += bitsOf((bytes[place] ?? 0) & (raw[at + place] ?? 0))
    return count
  }

  unite({ words }: NumberSet): void {
    for (let at = 0; at < words.length; at++)
      this.words[at] = (this.words[at] ?? 0) | (words[at] ?? 0)
  }

  intersect({ words }: NumberSet): void {
    for (let at = 0; at < words.length; at++)
      this.words[at] = (this.words[at] ?? 0) & (words[at] ?? 0)
  }

  subtract({ words }: NumberSet): void {
    for (let at = 0; at < words.length; at++)
      this.words[at] = (this.words[at] ?? 0) & ~(words[at] ?? 0)
  }

  count(): number {
    let count = 0
    for (const word of this.words) if (word !== 0) count += bitsOf(word)
    return count
  }

  isEmpty(): boolean {
    return !this.words.some((word) => word !== 0)
  }

  /** The first number that is not below `from`; -1 if there is none. */
  next(from: number): number {
    let at = from >>> 5
    let word = (this.words[at] ?? 0) & (-1 << (from & 31))
    while (word === 0) {
      if (++at >= this.words.length) return -1
      word = this.words[at] ?? 0
    }
    return at * 32 + 31 - Math.clz32(word & -word)
  }

  /** The last number below `before`; -1 if there is none. */
  last(before: number): number {
    if (before <= 0) return -1
    let at = (before - 1) >>> 5
    let word = (this.words[at] ?? 0) & (-1 >>> (31 - ((before - 1) & 31)))
    while (word === 0) {
      if (--at < 0) return -1
      word = this.words[at] ?? 0
    }
    return at * 32 + 31 - Math.clz32(word)
  }
}

function bitsOf(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
