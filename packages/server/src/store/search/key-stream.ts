// Keys in byte order, in parts of about 32 KiB. A key is stored as the length that it shares with
// the previous key, and the rest. The first key of a part and every sixteenth are stored whole:
//
//     u32 · ⌈n/16⌉   offset of each sixteenth key, counted from the first
//     n keys         varint shared · varint length · bytes
//
// The header has the number of keys, `n`, and a separator between a part and those before it.
// Integers of a fixed size are little-endian.

import { ByteWriter } from "./byte-writer.ts"

/** The size at which a part ends, which is what one lookup decompresses. */
const partBytes = 32 * 1024
export const restartEvery = 16

export interface StreamPart {
  /** The number of its first key in the whole stream. */
  readonly first: number
  /** Above all keys of the parts before, and not above its own; empty for lists. */
  readonly separator: Uint8Array
  readonly raw: Uint8Array
}

/** Items of which each sixteenth can be found directly: keys or lists. */
export class ItemWriter<P> {
  readonly body = new ByteWriter()
  readonly parts: P[] = []
  readonly #take: (part: StreamPart) => P
  count = 0
  #first = 0
  #restarts: number[] = []
  separator: Uint8Array = new Uint8Array()

  /** `take` is given each part once it is finished. */
  constructor(take: (part: StreamPart) => P) {
    this.#take = take
  }

  /** Begins an item. True if it must be stored whole. */
  begin(): boolean {
    const isRestart = (this.count - this.#first) % restartEvery === 0
    if (isRestart) this.#restarts.push(this.body.length)
    this.count++
    return isRestart
  }

  get isNewPart(): boolean {
    return this.count === this.#first
  }

  end(): void {
    if (this.body.length >= partBytes) this.finish()
  }

  finish(): void {
    if (this.count === this.#first) return
    const { body, separator } = this
    const raw = Buffer.allocUnsafeSlow(this.#restarts.length * 4 + body.length)
    for (const [at, offset] of this.#restarts.entries()) raw.writeUInt32LE(offset, at * 4)
    body.bytes.copy(raw, this.#restarts.length * 4, 0, body.length)
    this.parts.push(this.#take({ first: this.#first, separator, raw }))
    body.length = 0
    this.#first = this.count
    this.#restarts = []
    this.separator = new Uint8Array()
  }
}

export class KeyWriter<P> {
  readonly items: ItemWriter<P>
  #last: Buffer = Buffer.alloc(256)
  #lastLength = 0

  constructor(take: (part: StreamPart) => P) {
    this.items = new ItemWriter(take)
  }

  /** Adds a key. False if it is not above the previous one, as all must be. */
  add(key: Uint8Array, length: number): boolean {
    if (length > this.#last.length) {
      const larger = Buffer.alloc(length * 2)
      this.#last.copy(larger)
      this.#last = larger
    }
    const { items } = this
    const last = this.#last
    const most = Math.min(length, this.#lastLength)
    let shared = 0
    while (shared < most && last[shared] === key[shared]) shared++
    const isAbove = shared < most ? (key[shared] ?? 0) > (last[shared] ?? 0) : length > shared
    if (items.isNewPart)
      items.separator = Uint8Array.from(key.subarray(0, Math.min(shared + 1, length)))
    const kept = items.begin() ? 0 : shared
    items.body.varint(kept)
    items.body.varint(length - kept)
    items.body.append(key, kept, length)
    items.end()
    for (let at = shared; at < length; at++) last[at] = key[at] ?? 0
    this.#lastLength = length
    return isAbove
  }
}

/** A reading position. Beyond the end it reads zeros, so damaged bytes cause no endless loop. */
export function varintAt(raw: Uint8Array, place: { at: number }): number {
  // Most have one byte.
  let value = raw[place.at++] ?? 0
  if (value < 0x80) return value
  value &= 0x7f
  let shift = 7
  for (;;) {
    const byte = raw[place.at++] ?? 0
    value |= (byte & 0x7f) << shift
    if (byte < 0x80 || shift > 28) return value >>> 0
    shift += 7
  }
}

/** Reads the keys of one part in order, from any key on. */
export class KeyCursor {
  readonly #raw: Uint8Array
  /** Keys in this part. */
  readonly count: number
  readonly #place = { at: 0 }
  /** The position of the current key in the part; `count` after the last one. */
  index = -1
  key: Buffer = Buffer.allocUnsafe(256)
  length = 0

  constructor(raw: Uint8Array, count: number) {
    this.#raw = raw
    this.count = count
    this.#place.at = restartAt(raw, count, 0)
  }

  /** Moves to the next key; false after the last one. */
  next(): boolean {
    if (++this.index >= this.count) return false
    const shared = varintAt(this.#raw, this.#place)
    const length = varintAt(this.#raw, this.#place)
    const start = this.#place.at
    if (shared > this.length || start + length > this.#raw.length) throw new RangeError("not a key")
    if (shared + length > this.key.length) {
      const larger = Buffer.alloc((shared + length) * 2)
      this.key.copy(larger, 0, 0, shared)
      this.key = larger
    }
    const { key } = this
    const raw = this.#raw
    for (let at = 0; at < length; at++) key[shared + at] = raw[start + at] ?? 0
    this.length = shared + length
    this.#place.at = start + length
    return true
  }

  goTo(index: number): void {
    if (index < this.index || index - this.index > restartEvery) this.#restart(index)
    while (this.index < index && this.next());
  }

  #restart(index: number): void {
    const restart = Math.floor(index / restartEvery)
    this.index = restart * restartEvery - 1
    this.length = 0
    this.#place.at = restartAt(this.#raw, this.count, restart)
  }
}

/** The offsets of each sixteenth item, in a part of so many items. */
export function restartAt(raw: Uint8Array, items: number, restart: number): number {
  const restarts = Math.ceil(items / restartEvery)
  if (restart === 0) return restarts * 4
  const at = restart * 4
  const low = (raw[at] ?? 0) | ((raw[at + 1] ?? 0) << 8) | ((raw[at + 2] ?? 0) << 16)
  return restarts * 4 + low + (raw[at + 3] ?? 0) * 0x100_0000
}

/**
 * The place of a key in a part of so many keys; of one that is not there, the complement (`~`) of
 * the place that it would have. No key is copied: what each has in common with the one before says
 * how it compares.
 */
export function placeOfKey(raw: Uint8Array, count: number, target: Uint8Array): number {
  const place = { at: 0 }
  let [low, high] = [0, Math.ceil(count / restartEvery) - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    place.at = restartAt(raw, count, middle)
    varintAt(raw, place)
    const length = varintAt(raw, place)
    if (compareAt(raw, place.at, length, target) <= 0) low = middle
    else high = middle - 1
  }
  place.at = restartAt(raw, count, low)
  const end = Math.min((low + 1) * restartEvery, count)
  // What the key before, which is below the target, has in common with it.
  let common = 0
  for (let index = low * restartEvery; index < end; index++) {
    const shared = varintAt(raw, place)
    const length = varintAt(raw, place)
    const start = place.at
    place.at += length
    if (shared < common) return ~index
    if (shared > common) continue
    let at = 0
    while (at < length && common < target.length && raw[start + at] === target[common]) {
      at++
      common++
    }
    if (at === length && common === target.length) return index
    if (common === target.length) return ~index
    if (at < length && (raw[start + at] ?? 0) > (target[common] ?? 0)) return ~index
  }
  return ~end
}

export function compareBytes(
  one: Uint8Array,
  oneLength: number,
  other: Uint8Array,
  otherLength: number,
): number {
  return compareAt(one, 0, oneLength, other, otherLength)
}

/** Negative if the bytes from `start` on come before the others. */
function compareAt(
  one: Uint8Array,
  start: number,
  oneLength: number,
  other: Uint8Array,
  otherLength = other.length,
): number {
  const most = Math.min(oneLength, otherLength)
  for (let at = 0; at < most; at++) {
    const difference = (one[start + at] ?? 0) - (other[at] ?? 0)
    if (difference !== 0) return difference
  }
  return oneLength - otherLength
}
