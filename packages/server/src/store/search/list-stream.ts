// Lists of ascending numbers, all below the same number, `most`. In parts of about 32 KiB, like
// those of keys:
//
//     u32 · ⌈n/16⌉   offset of each sixteenth list, counted from the first
//     n lists        varint count, and then, depending on the count:
//                      all      nothing
//                      ≥ most/8 a bitmap: bit i & 7 of byte i >>> 3 is the number i
//                      1        varint of the number
//                      else     varint bytes · varint of the first · varints of what follows, less the one before, less 1
//
// Another stream has the unions of lists: each is a list of the numbers that are in one of some
// lists that follow each other.

import type { ByteWriter } from "./byte-writer.ts"
import { ItemWriter, restartAt, restartEvery, varintAt, type StreamPart } from "./key-stream.ts"
import { NumberSet } from "./number-set.ts"

export class ListWriter<P> {
  readonly items: ItemWriter<P>
  readonly #most: number

  constructor(most: number, take: (part: StreamPart) => P) {
    this.#most = most
    this.items = new ItemWriter(take)
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

  /** The numbers of a set. It has one at least. */
  addSet(set: NumberSet): void {
    const count = set.count()
    if (count < this.#most && isBitmap(count, this.#most)) {
      const { items } = this
      items.begin()
      items.body.varint(count)
      items.body.append(set.bytes(), 0, bytesFor(this.#most))
      items.end()
      return
    }
    // Of all numbers, none is written.
    const numbers = new Uint32Array(count < this.#most ? count : 0)
    if (numbers.length > 0) set.copyTo(numbers)
    this.add(numbers, 0, count)
  }

  /** The same numbers as this list's, whose numbers are below the same. */
  addAs(list: ListCursor): void {
    this.items.begin()
    list.appendTo(this.items.body)
    this.items.end()
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

/** Lists that follow each other, from one to the end, which is excluded. */
export interface ListSpan {
  readonly from: number
  readonly end: number
}

/** So many numbers are enough for a union, in a segment of so many entries. */
export function unionNumbers(entries: number): number {
  return Math.ceil(entries / 8)
}

/** Fewer lists are read as fast as their union. */
const unionListsMin = 16

/**
 * Writes unions of lists that follow each other: of as few as have so many numbers together, if
 * they are not very few. What is left at the end has none.
 */
export class UnionWriter {
  readonly spans: ListSpan[] = []
  readonly #enough: number
  readonly #writer: ListWriter<StreamPart>
  readonly #union: NumberSet
  #from = 0
  #end = 0
  #numbers = 0

  constructor(enough: number, most: number) {
    this.#enough = enough
    this.#writer = new ListWriter(most, (part) => part)
    this.#union = new NumberSet(most)
  }

  add(numbers: Uint32Array, start: number, end: number): void {
    if (this.#passes(end - start)) return
    const union = this.#union
    if (end - start === union.most) union.addAll()
    else union.addEach(numbers, start, end)
    this.#added(end - start)
  }

  addAs(list: ListCursor): void {
    if (this.#passes(list.count)) return
    list.addTo(this.#union)
    this.#added(list.count)
  }

  finish(): readonly StreamPart[] {
    this.#writer.items.finish()
    return this.#writer.items.parts
  }

  /** A list that is enough alone is its own union. */
  #passes(count: number): boolean {
    if (this.#from < this.#end || count < this.#enough) return false
    this.#from = ++this.#end
    return true
  }

  #added(count: number): void {
    this.#end++
    this.#numbers += count
    if (this.#numbers < this.#enough) return
    if (this.#end - this.#from >= unionListsMin) {
      this.spans.push({ from: this.#from, end: this.#end })
      this.#writer.addSet(this.#union)
    }
    this.#union.deleteRange(0, this.#union.most)
    this.#from = this.#end
    this.#numbers = 0
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

/** Reads the lists of one part in order, from any list on. */
export class ListCursor {
  readonly #raw: Uint8Array
  readonly #lists: number
  readonly most: number
  readonly #place = { at: 0 }
  #index = -1
  /** The count of the current list, and the position of its numbers. */
  count = 0
  #startAt = 0
  #dataAt = 0
  /** Of a list that has one number, that one. */
  #only = 0
  #nextAt: number

  constructor(raw: Uint8Array, lists: number, most: number) {
    this.#raw = raw
    this.#lists = lists
    this.most = most
    this.#nextAt = restartAt(raw, lists, 0)
  }

  /** Moves to the list at a position. */
  goTo(index: number): void {
    if (index < this.#index || index - this.#index > restartEvery) {
      const restart = Math.floor(index / restartEvery)
      this.#nextAt = restartAt(this.#raw, this.#lists, restart)
      this.#index = restart * restartEvery - 1
    }
    while (this.#index < index) this.next()
  }

  /** Moves to the next list. There must be one. */
  next(): void {
    const place = this.#place
    const raw = this.#raw
    place.at = this.#startAt = this.#nextAt
    this.#index++
    this.count = varintAt(raw, place)
    if (this.count < 1 || this.count > this.most) throw new RangeError("not a list")
    let bytes = 0
    if (this.count === this.most) bytes = 0
    else if (isBitmap(this.count, this.most)) bytes = bytesFor(this.most)
    else if (this.count > 1) bytes = varintAt(raw, place)
    this.#dataAt = place.at
    if (this.count === 1 && !isBitmap(1, this.most)) this.#only = varintAt(raw, place)
    this.#nextAt = place.at + bytes
    if (this.#nextAt > raw.length) throw new RangeError("not a list")
  }

  /** The approximate cost of reading it, in bytes and numbers. */
  get work(): number {
    return 8 + (isBitmap(this.count, this.most) ? bytesFor(this.most) : this.count)
  }

  /** Its first number. */
  get first(): number {
    if (this.count === this.most) return 0
    const place = this.#place
    place.at = this.#dataAt
    if (!isBitmap(this.count, this.most)) return varintAt(this.#raw, place)
    while (this.#raw[place.at] === 0) place.at++
    const byte = this.#raw[place.at] ?? 0
    return (place.at - this.#dataAt) * 8 + 31 - Math.clz32(byte & -byte)
  }

  /** Appends it as it is written. */
  appendTo(body: ByteWriter): void {
    body.append(this.#raw, this.#startAt, this.#nextAt)
  }

  /** Adds its numbers to a set. */
  addTo(set: NumberSet): void {
    if (this.count === this.most) {
      set.addAll()
      return
    }
    if (isBitmap(this.count, this.most)) {
      set.addBytes(this.#raw, this.#dataAt, bytesFor(this.most))
      return
    }
    if (this.count === 1) {
      set.add(this.#only)
      return
    }
    const place = this.#place
    place.at = this.#dataAt
    for (let left = this.count, number = -1; left > 0; left--) {
      number += varintAt(this.#raw, place) + 1
      set.add(number)
    }
  }

  /**
   * Adds the numbers of this list and of the lists that follow it, of so many lists in all. Most
   * have one number, so of those nothing but the number is read. Returns the cost.
   */
  addRunTo(set: NumberSet, lists: number): number {
    let work = 0
    for (const end = this.#index + lists; ; this.next()) {
      this.addTo(set)
      work += this.work
      const before = this.#index
      if (!isBitmap(1, this.most)) this.#addSinglesTo(set, end)
      work += 9 * (this.#index - before)
      if (this.#index + 1 === end) return work
    }
  }

  /** Adds the next lists, up to the first that has more than one number. */
  #addSinglesTo(set: NumberSet, end: number): void {
    const raw = this.#raw
    const place = this.#place
    place.at = this.#nextAt
    while (this.#index + 1 < end && raw[place.at] === 1) {
      this.#startAt = place.at++
      this.#index++
      this.count = 1
      this.#dataAt = place.at
      this.#only = varintAt(raw, place)
      set.add(this.#only)
    }
    this.#nextAt = place.at
    if (this.#nextAt > raw.length) throw new RangeError("not a list")
  }

  /** How many of its numbers are in a set. */
  countIn(set: NumberSet): number {
    if (this.count === this.most) return set.count()
    if (isBitmap(this.count, this.most))
      return set.countBytes(this.#raw, this.#dataAt, bytesFor(this.most))
    const place = this.#place
    place.at = this.#dataAt
    let found = 0
    for (let left = this.count, number = -1; left > 0; left--) {
      number += varintAt(this.#raw, place) + 1
      if (set.has(number)) found++
    }
    return found
  }

  /** Writes its numbers plus `more` into an array, from a position on. */
  copyTo(numbers: Uint32Array, start: number, more: number): void {
    const place = this.#place
    place.at = this.#dataAt
    let at = start
    if (this.count === this.most) {
      for (let number = 0; number < this.most; number++) numbers[at++] = number + more
    } else if (isBitmap(this.count, this.most)) {
      for (let number = 0; number < this.most; number++)
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
