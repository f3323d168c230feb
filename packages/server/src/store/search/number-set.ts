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
    // Word by word, which takes a copy that is aligned.
    if (length > aligned.length) aligned = new Uint8Array((length * 2 + 3) & ~3)
    aligned.set(raw.subarray(at, at + length))
    aligned.fill(0, length, (length + 3) & ~3)
    const more = new Uint32Array(aligned.buffer, 0, (length + 3) >>> 2)
    const { words } = this
    for (let place = 0; place < more.length; place++)
      words[place] = (words[place] ?? 0) | (more[place] ?? 0)
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
    const { words } = this
    let count = 0
    for (let at = 0; at < words.length; at++) if (words[at] !== 0) count += bitsOf(words[at] ?? 0)
    return count
  }

  isEmpty(): boolean {
    const { words } = this
    for (let at = 0; at < words.length; at++) if (words[at] !== 0) return false
    return true
  }

  isFull(): boolean {
    return this.count() === this.most
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

let aligned = new Uint8Array(65_536 / 8)

function bitsOf(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
