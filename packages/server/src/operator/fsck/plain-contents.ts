// Checks the contents of an entry by its bytes, without making objects: the same rules as
// `checkContents`, at a fifth of the cost. It can only accept contents. Anything unusual is left to
// `checkContents`, which says what is wrong.

import { isUtf8 } from "node:buffer"
import { hash } from "node:crypto"
import { disclosuresOf } from "../../store/opened-entry.ts"
import { systemProject } from "../../store/search/searchable-fields.ts"
import type { Stored } from "../../store/entries.ts"

const unusual = new Error("contents that checkContents has to look at")

const quote = 0x22
const comma = 0x2c
const point = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const underscore = 0x5f
const openBrace = 0x7b
const closeBrace = 0x7d

const bytesMax = 16 * 1024
const depthMax = 32
const namesMax = 512
/** The digests of an object are bits of one number, which limits them. */
const digestsMax = 30
/** An integer of at most this many digits is exact in a double. */
const exactDigits = 15
/** SHA-256 and a salt of 16 bytes in base64url. */
const digestChars = 43
const saltChars = 22
const digits = markedBytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
/** The possible last digits of a salt: four of their six bits are zero. */
const lastSaltDigits = markedBytes("AQgw")

/** Objects of a body are numbered, because digests and names belong to one of them. */
const wholeBody = 0
/** An object within an array or a sealed value. It may own no digests. */
const noOwner = -1
/** Members that every body has, and that are compared: v, workspaceId, receipt, projectId. */
const knownMembers = 4

type Known = Pick<Stored, "workspace" | "receipt" | "idem">

export class PlainContents {
  /** The body, and after it the disclosures. */
  readonly #bytes = Buffer.alloc(bytesMax)
  #at = 0
  #end = 0
  /** All bytes of the strings that were read, joined by OR: 128 or more if one is not ASCII. */
  #seen = 0
  /** The bounds of the last string, between its quotes. */
  #start = 0
  #stop = 0
  /** Whether all members of the last object were strings. */
  #isOfStrings = false

  #objects = 0
  #names = 0
  readonly #nameOwners = new Int32Array(namesMax)
  readonly #nameStarts = new Int32Array(namesMax)
  readonly #nameStops = new Int32Array(namesMax)
  #digests = 0
  readonly #digestOwners = new Int32Array(digestsMax)
  readonly #digestStarts = new Int32Array(digestsMax)

  /** Whether a caller wrote the entry, and its contents are certainly good. */
  areGood(entry: Stored): boolean {
    try {
      this.#entry(entry)
      return true
    } catch (error) {
      if (error !== unusual) throw error
      return false
    }
  }

  #entry(entry: Stored): void {
    const { body, workspace, receipt, idem } = entry
    if (body === undefined || body.length > bytesMax) throw unusual
    this.#bytes.set(body)
    this.#objects = wholeBody
    this.#names = this.#digests = 0
    this.#begin(0, body.length)
    this.#body({ workspace, receipt, idem })
    this.#finish(0)
    const disclosures = disclosuresOf(entry)
    let matched = 0
    for (const disclosure of disclosures) matched |= 1 << this.#disclosed(disclosure)
    if (disclosures.length !== this.#digests || matched !== 2 ** this.#digests - 1) throw unusual
  }

  #begin(from: number, end: number): void {
    if (end > bytesMax) throw unusual
    this.#at = from
    this.#end = end
    this.#seen = 0
  }

  #finish(from: number): void {
    if (this.#at !== this.#end) throw unusual
    if (this.#seen >= 0x80 && !isUtf8(this.#bytes.subarray(from, this.#end))) throw unusual
  }

  // ---- The body.

  #body(known: Known): void {
    let count = 0
    let [start, stop] = [0, 0]
    this.#expect(openBrace)
    do {
      this.#name(start, stop)
      ;[start, stop] = [this.#start, this.#stop]
      count += this.#knownMember(known)
    } while (this.#hasMore(closeBrace))
    if (count !== (known.idem === undefined ? knownMembers : knownMembers + 1)) throw unusual
  }

  /** Reads the value of a member of the body. Returns 1 for one of the members that are counted. */
  #knownMember({ workspace, receipt, idem }: Known): number {
    if (this.#isText("v")) this.#expect(zero + 1)
    else if (this.#isText("workspaceId")) this.#expectText(workspace)
    else if (this.#isText("receipt")) this.#expectText(receipt)
    else if (this.#isText("idem")) this.#expectText(idem)
    else if (this.#isText("projectId")) {
      this.#string()
      if (this.#isText(systemProject)) throw unusual
    } else {
      if (this.#isText("_sd_alg")) this.#expectText("sha-256")
      else this.#member(wholeBody, 0)
      return 0
    }
    return 1
  }

  /** Reads a member's name: ASCII, and sorted after the previous name, which is at this place. */
  #name(start: number, stop: number): void {
    const bytes = this.#bytes
    if (this.#string() >= 0x80) throw unusual
    const most = Math.min(stop - start, this.#stop - this.#start)
    let same = 0
    while (same < most && bytes[start + same] === bytes[this.#start + same]) same++
    const isBehind =
      same < most
        ? (bytes[start + same] ?? 0) < (bytes[this.#start + same] ?? 0)
        : this.#stop - this.#start > most
    if (!isBehind) throw unusual
    this.#expect(colon)
  }

  /** Reads the value of the member whose name was read. */
  #member(owner: number, depth: number): void {
    const first = this.#bytes[this.#start]
    // All names that the format reserves begin with one of these.
    if (first === underscore || first === point) {
      if (owner === noOwner || !this.#isText("_sd")) throw unusual
      this.#digestsOf(owner)
      return
    }
    if (owner !== noOwner) this.#own(owner)
    if (this.#isText("context") && owner === wholeBody) throw unusual
    if (this.#isText("other") && this.#bytes[this.#at] !== openBrace) throw unusual
    this.#value(owner, depth)
  }

  /** Notes that an object has the name that was read. The caller has made sure that it is new. */
  #own(owner: number): void {
    if (this.#names === namesMax) throw unusual
    this.#nameOwners[this.#names] = owner
    this.#nameStarts[this.#names] = this.#start
    this.#nameStops[this.#names++] = this.#stop
  }

  #digestsOf(owner: number): void {
    this.#expect(openBracket)
    do {
      this.#string()
      if (this.#stop - this.#start !== digestChars || this.#digests === digestsMax) throw unusual
      this.#digestOwners[this.#digests] = owner
      this.#digestStarts[this.#digests++] = this.#start
    } while (this.#hasMore(closeBracket))
  }

  // ---- Disclosures.

  /** Checks a disclosure. Returns the number of its digest. */
  #disclosed(text: string): number {
    const from = this.#end
    if (from + text.length > bytesMax) throw unusual
    const end = from + this.#bytes.write(text, from, "base64url")
    if (this.#bytes.base64urlSlice(from, end) !== text) throw unusual
    this.#begin(from, end)
    this.#expect(openBracket)
    this.#string()
    if (!this.#isSalt()) throw unusual
    this.#expect(comma)
    if (this.#string() >= 0x80) throw unusual
    this.#expect(comma)
    const digest = this.#digestOf(text)
    this.#claim(this.#digestOwners[digest] ?? noOwner)
    this.#expect(closeBracket)
    this.#finish(from)
    return digest
  }

  #digestOf(disclosure: string): number {
    const digest = hash("sha256", disclosure, "base64url")
    for (let at = 0; at < this.#digests; at++)
      if (isTextAt(digest, this.#bytes, this.#digestStarts[at] ?? 0)) return at
    throw unusual
  }

  /** Reads the value that is sealed under the name that was read, as a member of its owner. */
  #claim(owner: number): void {
    const bytes = this.#bytes
    const [start, stop] = [this.#start, this.#stop]
    for (let at = 0; at < this.#names; at++) {
      const from = this.#nameStarts[at] ?? 0
      if (this.#nameOwners[at] !== owner || (this.#nameStops[at] ?? 0) - from !== stop - start)
        continue
      if (bytes.compare(bytes, start, stop, from, from + stop - start) === 0) throw unusual
    }
    this.#own(owner)
    if (owner === wholeBody && (this.#isText("actor") || this.#isText("target"))) throw unusual
    const isContext = this.#isText("context")
    this.#isOfStrings = false
    this.#member(noOwner, 0)
    if (isContext && !this.#isOfStrings) throw unusual
  }

  #isSalt(): boolean {
    const bytes = this.#bytes
    for (let at = this.#start; at < this.#stop; at++) if (digits[bytes[at] ?? 0] === 0) return false
    return (
      this.#stop - this.#start === saltChars && lastSaltDigits[bytes[this.#stop - 1] ?? 0] === 1
    )
  }

  // ---- Canonical JSON, by the byte.

  #value(owner: number, depth: number): void {
    if (depth > depthMax) throw unusual
    const byte = this.#bytes[this.#at]
    if (byte === quote) this.#string()
    else if (byte === openBrace)
      this.#object(owner === noOwner ? noOwner : ++this.#objects, depth + 1)
    else if (byte === openBracket) this.#array(depth + 1)
    else this.#scalar()
  }

  #object(owner: number, depth: number): void {
    let isOfStrings = true
    this.#at++
    if (!this.#isEnd(closeBrace)) {
      let [start, stop] = [0, 0]
      do {
        this.#name(start, stop)
        ;[start, stop] = [this.#start, this.#stop]
        if (this.#bytes[this.#at] !== quote) isOfStrings = false
        this.#member(owner, depth)
      } while (this.#hasMore(closeBrace))
    }
    this.#isOfStrings = isOfStrings
  }

  #array(depth: number): void {
    this.#at++
    if (this.#isEnd(closeBracket)) return
    do this.#value(noOwner, depth)
    while (this.#hasMore(closeBracket))
  }

  /** Returns its bytes, joined by OR. An escape is unusual. */
  #string(): number {
    const bytes = this.#bytes
    const end = this.#end
    this.#expect(quote)
    let at = this.#at
    this.#start = at
    let seen = 0
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0
      if (byte === quote) break
      if (byte < 0x20 || byte === backslash) throw unusual
      seen |= byte
    }
    if (at >= end) throw unusual
    this.#stop = at
    this.#at = at + 1
    this.#seen |= seen
    return seen
  }

  /** A number as ECMAScript writes it, or one of three words. */
  #scalar(): void {
    const bytes = this.#bytes
    const start = this.#at
    let areDigits = true
    for (; this.#at < this.#end; this.#at++) {
      const byte = bytes[this.#at] ?? 0
      if (byte === comma || byte === closeBrace || byte === closeBracket) break
      if (byte < zero || byte > nine) areDigits = false
    }
    const length = this.#at - start
    const isPlain = areDigits && length > 0 && length <= exactDigits
    if (isPlain && (bytes[start] !== zero || length === 1)) return
    const text = bytes.latin1Slice(start, this.#at)
    const number = Number(text)
    const isNumber = Number.isFinite(number) && String(number) === text
    if (!isNumber && text !== "true" && text !== "false" && text !== "null") throw unusual
  }

  #expect(byte: number): void {
    if (this.#bytes[this.#at++] !== byte) throw unusual
  }

  #expectText(text: string | undefined): void {
    this.#string()
    if (text === undefined || !this.#isText(text)) throw unusual
  }

  /** Whether the last string is this text, which is ASCII. */
  #isText(text: string): boolean {
    return text.length === this.#stop - this.#start && isTextAt(text, this.#bytes, this.#start)
  }

  /** Whether an object or an array ends at once. */
  #isEnd(close: number): boolean {
    if (this.#bytes[this.#at] !== close) return false
    this.#at++
    return true
  }

  /** After a member: a comma and another one, or the end. */
  #hasMore(close: number): boolean {
    const byte = this.#bytes[this.#at++]
    if (byte === comma) return true
    if (byte !== close) throw unusual
    return false
  }
}

function isTextAt(text: string, bytes: Uint8Array, start: number): boolean {
  for (let at = 0; at < text.length; at++)
    if (text.charCodeAt(at) !== bytes[start + at]) return false
  return true
}

function markedBytes(characters: string): Uint8Array {
  const marked = new Uint8Array(256)
  for (const byte of Buffer.from(characters)) marked[byte] = 1
  return marked
}
