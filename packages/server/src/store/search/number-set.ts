/**
 * A set of numbers below `most`. Of a large segment most sets have few numbers, or all until
 * something is taken away, and have no bits until then: these take 128 KiB, which the garbage
 * collector counts.
 */
export class NumberSet {
  readonly most: number
  #isAll = false
  /** All of its numbers in order, while it has no bits. */
  #few: number[] = []
  #words = noWords

  constructor(most: number) {
    this.most = most
  }

  copy(): NumberSet {
    const copy = new NumberSet(this.most)
    copy.#take(this)
    return copy
  }

  has(number: number): boolean {
    if (this.#words.length > 0)
      return (((this.#words[number >>> 5] ?? 0) >>> (number & 31)) & 1) === 1
    return this.#isAll || this.#few[placeIn(this.#few, number)] === number
  }

  add(number: number): void {
    if (this.#isAll) return
    if (this.#words.length === 0) {
      if (this.#addFew(number)) return
      this.spread()
    }
    this.#words[number >>> 5] = (this.#words[number >>> 5] ?? 0) | (1 << (number & 31))
  }

  addEach(numbers: Uint32Array, start: number, end: number): void {
    if (this.#isAll) return
    this.spread()
    const words = this.#words
    for (let at = start; at < end; at++) {
      const number = numbers[at] ?? 0
      words[number >>> 5] = (words[number >>> 5] ?? 0) | (1 << (number & 31))
    }
  }

  delete(number: number): void {
    if (this.#isFew) {
      this.#few = this.#few.filter((one) => one !== number)
      return
    }
    this.spread()
    this.#words[number >>> 5] = (this.#words[number >>> 5] ?? 0) & ~(1 << (number & 31))
  }

  addAll(): void {
    this.#isAll = true
    this.#few = []
    this.#words = noWords
  }

  addRange(from: number, to: number): void {
    if (from === 0 && to === this.most) this.addAll()
    if (!this.#isAll) this.#changeRange(from, to, 0xffffffff, (number) => this.add(number))
  }

  deleteRange(from: number, to: number): void {
    if (this.#isFew) this.#few = this.#few.filter((one) => one < from || one >= to)
    else this.#changeRange(from, to, 0, (number) => this.delete(number))
  }

  /** Writes whole words where it can. */
  #changeRange(from: number, to: number, word: number, change: (number: number) => void): void {
    let number = from
    for (; number < to && (number & 31) !== 0; number++) change(number)
    if (number + 32 <= to) {
      this.spread()
      const end = (to >>> 5) << 5
      this.#words.fill(word, number >>> 5, end >>> 5)
      number = end
    }
    for (; number < to; number++) change(number)
  }

  addBytes(raw: Uint8Array, at: number, length: number): void {
    if (this.#isAll) return
    this.spread()
    // Word by word, which takes a copy that is aligned.
    if (length > aligned.length) aligned = new Uint8Array((length * 2 + 3) & ~3)
    aligned.set(raw.subarray(at, at + length))
    aligned.fill(0, length, (length + 3) & ~3)
    const more = new Uint32Array(aligned.buffer, 0, (length + 3) >>> 2)
    const words = this.#words
    for (let place = 0; place < more.length; place++)
      words[place] = (words[place] ?? 0) | (more[place] ?? 0)
  }

  countBytes(raw: Uint8Array, at: number, length: number): number {
    if (this.#isFew) {
      let found = 0
      for (const number of this.#few)
        found += ((raw[at + (number >>> 3)] ?? 0) >>> (number & 7)) & 1
      return found
    }
    const bytes = this.bytes()
    let count = 0
    for (let place = 0; place < length; place++)
      count += bitsOf((bytes[place] ?? 0) & (raw[at + place] ?? 0))
    return count
  }

  /** Bit i & 7 of byte i >>> 3 is the number i. They are the set's own. */
  bytes(): Uint8Array {
    this.spread()
    // That is bit i & 31 of word i >>> 5 where integers are little-endian, which all platforms of
    // Node are.
    return new Uint8Array(this.#words.buffer)
  }

  unite(other: NumberSet): void {
    if (other.#isAll) this.addAll()
    if (this.#isAll) return
    for (const number of other.#few) this.add(number)
    if (other.#words.length === 0) return
    this.spread()
    const [words, more] = [this.#words, other.#words]
    for (let at = 0; at < words.length; at++) words[at] = (words[at] ?? 0) | (more[at] ?? 0)
  }

  intersect(other: NumberSet): void {
    if (other.#isAll) return
    if (this.#isAll) this.#take(other)
    else if (this.#isFew) this.#few = this.#few.filter((number) => other.has(number))
    else if (other.#isFew) {
      this.#few = other.#few.filter((number) => this.has(number))
      this.#words = noWords
    } else {
      const [words, kept] = [this.#words, other.#words]
      for (let at = 0; at < words.length; at++) words[at] = (words[at] ?? 0) & (kept[at] ?? 0)
    }
  }

  subtract(other: NumberSet): void {
    if (this.#isFew) this.#few = this.#few.filter((number) => !other.has(number))
    else if (other.#isAll) this.#take(new NumberSet(this.most))
    else if (other.#isFew) for (const number of other.#few) this.delete(number)
    else {
      this.spread()
      const [words, gone] = [this.#words, other.#words]
      for (let at = 0; at < words.length; at++) words[at] = (words[at] ?? 0) & ~(gone[at] ?? 0)
    }
  }

  count(): number {
    if (this.#isAll) return this.most
    const words = this.#words
    let count = this.#few.length
    for (let at = 0; at < words.length; at++) if (words[at] !== 0) count += bitsOf(words[at] ?? 0)
    return count
  }

  /** Writes its numbers in order into an array. Returns how many. */
  copyTo(numbers: Uint32Array): number {
    let count = 0
    for (let number = this.next(0); number >= 0; number = this.next(number + 1))
      numbers[count++] = number
    return count
  }

  isEmpty(): boolean {
    return this.next(0) < 0
  }

  isFull(): boolean {
    if (this.#isAll) return true
    const words = this.#words
    const whole = this.most >>> 5
    for (let at = 0; at < whole; at++) if (words[at] !== 0xffffffff) return false
    for (let number = whole * 32; number < this.most; number++) if (!this.has(number)) return false
    return true
  }

  /** The first number that is not below `from`; -1 if there is none. */
  next(from: number): number {
    if (this.#isAll) return from < this.most ? from : -1
    if (this.#isFew) return this.#few[placeIn(this.#few, from)] ?? -1
    const words = this.#words
    let at = from >>> 5
    let word = (words[at] ?? 0) & (-1 << (from & 31))
    while (word === 0) {
      if (++at >= words.length) return -1
      word = words[at] ?? 0
    }
    return at * 32 + 31 - Math.clz32(word & -word)
  }

  /** The first number that is not below `from` and that it does not have; `most` if there is none. */
  runEnd(from: number): number {
    if (this.#isAll) return this.most
    if (this.#isFew) {
      let end = from
      for (let at = placeIn(this.#few, from); this.#few[at] === end; at++) end++
      return end
    }
    const words = this.#words
    let at = from >>> 5
    let word = ~(words[at] ?? 0) & (-1 << (from & 31))
    while (word === 0 && ++at < words.length) word = ~(words[at] ?? 0)
    return at < words.length
      ? Math.min(at * 32 + 31 - Math.clz32(word & -word), this.most)
      : this.most
  }

  /** The last number below `before`; -1 if there is none. */
  last(before: number): number {
    if (this.#isAll) return Math.min(before, this.most) - 1
    if (this.#isFew) return this.#few[placeIn(this.#few, before) - 1] ?? -1
    if (before <= 0) return -1
    const words = this.#words
    let at = (before - 1) >>> 5
    let word = (words[at] ?? 0) & (-1 >>> (31 - ((before - 1) & 31)))
    while (word === 0) {
      if (--at < 0) return -1
      word = words[at] ?? 0
    }
    return at * 32 + 31 - Math.clz32(word)
  }

  /** Has bits from now on: `has` is fastest so. */
  spread(): void {
    if (this.#words.length > 0) return
    this.#words = new Uint32Array(Math.ceil(this.most / 32))
    if (this.#isAll) {
      this.#isAll = false
      this.#words.fill(0xffffffff)
      const above = this.most & 31
      if (above !== 0) this.#words[this.#words.length - 1] = (1 << above) - 1
    }
    const few = this.#few
    this.#few = []
    for (const number of few) this.add(number)
  }

  get #isFew(): boolean {
    return !this.#isAll && this.#words.length === 0
  }

  /** False if there are too many for that. */
  #addFew(number: number): boolean {
    const few = this.#few
    const at = number > (few.at(-1) ?? -1) ? few.length : placeIn(few, number)
    if (few[at] === number) return true
    if (few.length >= Math.min(fewMax, this.most >>> 6)) return false
    if (at === few.length) few.push(number)
    else few.splice(at, 0, number)
    return true
  }

  /** Becomes a copy of another one. */
  #take(other: NumberSet): void {
    this.#isAll = other.#isAll
    this.#few = [...other.#few]
    this.#words = other.#words.slice()
  }
}

/** A number is put among so many at most. */
const fewMax = 512

/** How many of these are below a number. They are in order. */
function placeIn(numbers: readonly number[], number: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] ?? 0) < number) low = middle + 1
    else high = middle
  }
  return low
}

const noWords = new Uint32Array()

let aligned = new Uint8Array(65_536 / 8)

function bitsOf(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
