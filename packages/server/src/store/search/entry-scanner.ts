// Reads the searchable values of an entry from its stored bytes, without making objects: bodies are
// canonical JSON, because the ledger wrote them. The result is that of `filedOf`, for less than
// half of its cost. An entry that looks unusual in any way is left to `filedOf`.

import { hash } from "node:crypto"
import { kindOf, recordBytes } from "@tallystick/proof"
import type { Stored } from "../entries.ts"
import { instantOf } from "../instant.ts"
import type { EntryPoster } from "./entry-poster.ts"
import { nameEnd, partyValue } from "./key-groups.ts"
import { isName, NameList, PathNode } from "./metadata-paths.ts"
import type { Owner } from "./search.ts"
import { saidTexts, systemProject } from "./searchable-fields.ts"

const unusual = new Error("an entry that is read by hand")

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const depthMax = 200
type Word = (typeof saidTexts)[number]

/** The position of a string, between its quotes. */
interface Span {
  start: number
  end: number
  /** It has only ASCII characters and no escape. */
  isPlain: boolean
}

interface PartySpans {
  readonly id: Span
  readonly type: Span
}

/** The digests of an object's sealed members. */
interface Digests {
  count: number
  /** The position of the first one. The others follow, each after `","`. */
  start: number
  /** How many of them have no claim yet. */
  left: number
}

const places = ["actor", "target", "metadata", "top"] as const
type Place = (typeof places)[number]
/** SHA-256 in base64url. */
const digestLength = 43

export class EntryScanner {
  readonly #poster: EntryPoster
  readonly #groups: Readonly<Record<Word | "kind", number>>
  readonly #party: Readonly<Record<"actor" | "target", PartyGroups>>
  readonly #trace: number
  readonly #key: number
  readonly #metadata: PathNode
  readonly #nameless: PathNode
  readonly #members = new NameList()

  /** The bytes that are being read, and their end. */
  #bytes: Buffer = Buffer.alloc(0)
  #end = 0
  #at = 0
  readonly #span: Span = { start: 0, end: 0, isPlain: true }
  readonly #words: Readonly<Record<Word, Span>>
  readonly #parties: Readonly<Record<"actor" | "target", PartySpans>>
  readonly #digests: Readonly<Record<Place, Digests>>
  #scratch: Buffer = Buffer.alloc(4096)
  /** The day of the last entry, because the next one is most often of the same day. */
  #day: { readonly text: string; readonly ms: number } = { text: "", ms: 0 }

  constructor(poster: EntryPoster) {
    const { groups } = poster
    this.#poster = poster
    const text = (name: string, owner: Owner = "nobody"): number =>
      groups.ofField([name], owner, true)
    const exact = (name: string): number => groups.ofField([name], "nobody", false)
    this.#groups = {
      id: text("id"),
      receipt: text("receipt"),
      action: text("action"),
      projectId: exact("project"),
      occurredAt: -1,
      source: exact("source"),
      lane: exact("lane"),
      kind: exact("kind"),
    }
    const type = exact("type")
    const partyOf = (party: "actor" | "target"): PartyGroups => ({
      id: text(party),
      type,
      open: memberGroups(poster, party, "nobody"),
      sealed: memberGroups(poster, party, party),
    })
    this.#party = { actor: partyOf("actor"), target: partyOf("target") }
    this.#trace = groups.ofField(["trace"], "actor", false)
    this.#key = groups.ofField(["key"], "actor", false)
    this.#metadata = new PathNode(poster, "metadata")
    this.#nameless = new PathNode(poster, undefined)
    const span = (): Span => ({ start: 0, end: 0, isPlain: true })
    this.#words = {
      id: span(),
      receipt: span(),
      projectId: span(),
      action: span(),
      occurredAt: span(),
      source: span(),
      lane: span(),
    }
    const party = (): PartySpans => ({ id: span(), type: span() })
    this.#parties = { actor: party(), target: party() }
    const digests = (): Digests => ({ count: 0, start: 0, left: 0 })
    this.#digests = { actor: digests(), target: digests(), metadata: digests(), top: digests() }
  }

  /** Posts an entry. False, with nothing posted, if `filedOf` must read it. */
  scan(stored: Stored): boolean {
    try {
      this.#entry(stored)
      return true
    } catch (error) {
      if (error !== unusual) throw error
      this.#poster.undo()
      return false
    }
  }

  #entry(stored: Stored): void {
    const { record, body } = stored
    const kind = record.length === recordBytes ? kindOf(record[4] ?? 0) : undefined
    if (body === undefined || kind === undefined) throw unusual
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    this.#read(bytes, 0, bytes.length)
    for (const word of saidTexts) this.#words[word].end = -1
    for (const { id, type } of [this.#parties.actor, this.#parties.target]) id.end = type.end = -1
    const { actor, target, metadata, top } = this.#digests
    for (const digests of [actor, target, metadata, top]) digests.count = digests.left = 0
    const isVisible = this.#body()
    if (this.#at !== this.#end) throw unusual
    this.#poster.text(this.#groups.kind, kind)
    this.#said(isVisible)
    const packed = stored.packedDisclosures
    if (packed === undefined) this.#disclosed(bytes, stored.disclosures)
    else this.#disclosedPacked(bytes, packed)
  }

  #read(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes
    this.#end = end
    this.#at = start
  }

  // ---- The body.

  /** Whether it is visible to its people. */
  #body(): boolean {
    let isVisible = false
    this.#expect(openBrace)
    do {
      const name = this.#memberName()
      switch (name) {
        case "_sd":
          this.#digestsOf("top")
          break
        case "actor":
        case "target":
          this.#partyOf(name)
          break
        case "metadata":
          if (this.#bytes[this.#at] !== openBrace) throw unusual
          this.#object(this.#metadata, "nobody", 1, "metadata")
          break
        case "keyId":
          this.#postString(this.#key)
          break
        case "userVisible":
          isVisible = this.#bytes[this.#at] === 0x74
          this.#skip(0)
          break
        case "id":
        case "receipt":
        case "projectId":
        case "action":
        case "occurredAt":
        case "source":
        case "lane":
          this.#string(this.#words[name])
          break
        default:
          this.#skip(0)
      }
    } while (this.#hasMore(closeBrace))
    return isVisible
  }

  /** Bodies have few names, so all bodies share one string for each. */
  #memberName(): string {
    this.#string(this.#span)
    this.#expect(colon)
    const { start, end, isPlain } = this.#span
    if (!isPlain) throw unusual
    return this.#members.nameOf(this.#bytes, start, end)
  }

  #partyOf(party: "actor" | "target"): void {
    const spans = this.#parties[party]
    const { open } = this.#party[party]
    this.#expect(openBrace)
    do {
      const name = this.#memberName()
      const isString = this.#bytes[this.#at] === quote
      if (name === "_sd") this.#digestsOf(party)
      else if (name === "id" || name === "type") this.#string(spans[name])
      else if (isString && (name === "email" || name === "name")) {
        this.#string(this.#span)
        this.#post(open[name], this.#span)
      } else this.#skip(0)
    } while (this.#hasMore(closeBrace))
  }

  /** The members that every body has, for filters. */
  #said(isVisible: boolean): void {
    const poster = this.#poster
    const { id, receipt, action, projectId, occurredAt, source, lane } = this.#words
    for (const word of saidTexts) if (this.#words[word].end < 0) throw unusual
    this.#postTime(occurredAt)
    this.#postId("id", id)
    this.#postId("receipt", receipt)
    this.#post(this.#groups.action, action)
    this.#post(this.#groups.projectId, projectId)
    this.#post(this.#groups.source, source)
    this.#post(this.#groups.lane, lane)
    this.#postAsIs(poster.filters.lane, lane)
    this.#postAsIs(poster.filters.project, projectId)
    const { start, end } = projectId
    poster.filter(isName(systemProject, this.#bytes, start, end - start), isVisible)
    this.#postParty("actor", isVisible)
    this.#postParty("target", isVisible)
  }

  /** Looks the day up if the time is in UTC with milliseconds, as most are; else parses it. */
  #postTime({ start, end }: Span): void {
    const bytes = this.#bytes
    const day = end - start === 24 && bytes[end - 1] === 0x5a ? this.#dayMs(start) : undefined
    const ms = day === undefined ? Number.NaN : day + timeOfDay(bytes, start + 11)
    if (ms >= 0) {
      this.#poster.occurred(ms, 0)
      return
    }
    const instant = instantOf(bytes.latin1Slice(start, end))
    if (instant === undefined) throw unusual
    this.#poster.occurred(instant.ms, instant.ns)
  }

  /** The beginning of the day of a time in UTC; undefined if the time has another form. */
  #dayMs(start: number): number | undefined {
    const { text, ms } = this.#day
    if (isName(text, this.#bytes, start, dayLength)) return ms
    const asked = this.#bytes.latin1Slice(start, start + dayLength)
    const instant = instantOf(`${asked}00:00:00Z`)
    if (instant !== undefined) this.#day = { text: asked, ms: instant.ms }
    return instant?.ms
  }

  #postId(field: "id" | "receipt", span: Span): void {
    if (!span.isPlain || !this.#poster.id(field, this.#bytes, span.start, span.end))
      this.#post(this.#groups[field], span)
  }

  #postParty(party: "actor" | "target", isVisible: boolean): void {
    const { id, type } = this.#parties[party]
    if (id.end < 0 || type.end < 0) throw unusual
    this.#post(this.#party[party].id, id)
    this.#post(this.#party[party].type, type)
    if (isVisible) this.#postSubject(this.#poster.filters[party], id, type)
  }

  // ---- Values, of metadata and of sealed fields.

  #value(node: PathNode, owner: Owner, depth: number): void {
    switch (this.#bytes[this.#at]) {
      case quote:
        this.#string(this.#span)
        this.#post(node.groupOf(owner), this.#span)
        break
      case openBrace:
        this.#object(node, owner, depth + 1, undefined)
        break
      case openBracket:
        if (depth > depthMax) throw unusual
        this.#at++
        if (this.#isEnd(closeBracket)) break
        do this.#value(node, owner, depth + 1)
        while (this.#hasMore(closeBracket))
        break
      default:
        this.#scalar(node, owner)
    }
  }

  /** The members of an object; with `place`, digests of sealed members may be among them. */
  #object(node: PathNode, owner: Owner, depth: number, place: "metadata" | undefined): void {
    if (depth > depthMax) throw unusual
    this.#at++
    if (this.#isEnd(closeBrace)) return
    do {
      const span = this.#span
      this.#string(span)
      this.#expect(colon)
      // What the metadata itself calls `_sd` is no member of it.
      const isDigests = depth === 1 && isName("_sd", this.#bytes, span.start, span.end - span.start)
      if (isDigests && place !== undefined) this.#digestsOf(place)
      else if (isDigests) this.#skip(0)
      else this.#value(this.#childOf(node, span), owner, depth)
    } while (this.#hasMore(closeBrace))
  }

  #childOf(node: PathNode, span: Span): PathNode {
    return span.isPlain
      ? node.childAt(this.#bytes, span.start, span.end)
      : node.child(this.#textOf(span))
  }

  /** A number, true or false, as canonical JSON writes it; null is not searchable. */
  #scalar(node: PathNode, owner: Owner): void {
    const start = this.#at
    const end = this.#scalarEnd()
    const isNull = this.#bytes[start] === 0x6e
    if (!isNull) this.#poster.bytes(node.groupOf(owner), this.#bytes, start, end)
  }

  #scalarEnd(): number {
    const bytes = this.#bytes
    const start = this.#at
    while (this.#at < this.#end) {
      const byte = bytes[this.#at] ?? 0
      if (byte === comma || byte === closeBrace || byte === closeBracket) break
      // Digits, signs, a point, and the letters of true, false and null.
      if (byte <= 0x20 || byte === quote || byte >= 0x7b) throw unusual
      this.#at++
    }
    if (this.#at === start) throw unusual
    return this.#at
  }

  // ---- Sealed fields.

  #disclosedPacked(body: Buffer, packed: Uint8Array): void {
    const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
    for (let start = 0; start <= bytes.length;) {
      const found = bytes.indexOf(0xff, start)
      const end = found < 0 ? bytes.length : found
      this.#disclosure(body, bytes, start, end)
      start = end + 1
    }
  }

  #disclosed(body: Buffer, disclosures: string): void {
    let start = 0
    while (start < disclosures.length) {
      const found = disclosures.indexOf("~", start)
      const end = found < 0 ? disclosures.length : found
      const disclosure = disclosures.slice(start, end)
      start = end + 1
      if (disclosure.length > this.#scratch.length) this.#scratch = Buffer.alloc(disclosure.length)
      const length = this.#scratch.write(disclosure, 0, "base64url")
      this.#disclosure(body, this.#scratch, 0, length, disclosure)
    }
  }

  /** `text` is what the bytes are in base64url, where it is known. */
  #disclosure(body: Buffer, bytes: Buffer, start: number, end: number, text?: string): void {
    this.#read(bytes, start, end)
    this.#expect(openBracket)
    this.#string(this.#span)
    this.#expect(comma)
    this.#string(this.#span)
    this.#expect(comma)
    const name = this.#textOf(this.#span)
    this.#claim(
      name,
      this.#placeOf(body, name, () => text ?? bytes.base64urlSlice(start, end)),
    )
    this.#expect(closeBracket)
    if (this.#at !== this.#end) throw unusual
  }

  #claim(name: string, place: Place): void {
    const isString = this.#bytes[this.#at] === quote
    const isObject = this.#bytes[this.#at] === openBrace
    if (place === "metadata") {
      if (name === "_sd") throw unusual
      this.#value(this.#metadata.child(name), "actor", 1)
    } else if (place === "top") {
      if (name === "context" && isObject) this.#context()
      else if (name === "metadata" && isObject) this.#object(this.#metadata, "actor", 1, undefined)
      else this.#skip(0)
    } else if ((name === "email" || name === "name") && isString) {
      this.#string(this.#span)
      this.#post(this.#party[place].sealed[name], this.#span)
    } else if (name === "other" && isObject) this.#object(this.#nameless, place, 2, undefined)
    else this.#skip(0)
  }

  #context(): void {
    this.#at++
    if (this.#isEnd(closeBrace)) return
    do {
      const name = this.#memberName()
      if (name === "traceId") this.#postString(this.#trace)
      else if (name === "keyId") this.#postString(this.#key)
      else this.#skip(0)
    } while (this.#hasMore(closeBrace))
  }

  /** The member that is next, if it is a string. */
  #postString(group: number): void {
    if (this.#bytes[this.#at] !== quote) return this.#skip(0)
    this.#string(this.#span)
    this.#post(group, this.#span)
  }

  /**
   * Whose claim it is. A party seals `email`, `name` and `other`, the body `context` and
   * `metadata`, and metadata any name: where one place alone can still have it, its digest is not
   * looked for.
   */
  #placeOf(body: Buffer, name: string, disclosure: () => string): Place {
    const { actor, target, metadata, top } = this.#digests
    const isParty = name === "email" || name === "name" || name === "other"
    const isTop = name === "context" || name === "metadata"
    const inActor = isParty && actor.left > 0
    const inTarget = isParty && target.left > 0
    const inTop = isTop && top.left > 0
    const inMetadata = metadata.left > 0
    const isSure = Number(inActor) + Number(inTarget) + Number(inTop) + Number(inMetadata) === 1
    const only = inActor ? "actor" : inTarget ? "target" : inTop ? "top" : "metadata"
    const place = isSure ? only : this.#placeByDigest(body, disclosure())
    this.#digests[place].left--
    return place
  }

  #placeByDigest(body: Buffer, disclosure: string): Place {
    const digest = hash("sha256", disclosure, "base64url")
    for (const place of places) {
      const { count, start } = this.#digests[place]
      for (let at = 0; at < count; at++)
        if (isName(digest, body, start + at * (digestLength + 3), digestLength)) return place
    }
    throw unusual
  }

  /** An array of digests: the position of the first, and their number. */
  #digestsOf(place: Place): void {
    const digests = this.#digests[place]
    this.#expect(openBracket)
    digests.start = this.#at + 1
    do {
      this.#string(this.#span)
      if (this.#span.end - this.#span.start !== digestLength) throw unusual
      digests.count++
    } while (this.#hasMore(closeBracket))
    digests.left = digests.count
  }

  // ---- JSON, by the byte.

  #expect(byte: number): void {
    if (this.#bytes[this.#at++] !== byte) throw unusual
  }

  /** Whether an object or an array ends at once. */
  #isEnd(close: number): boolean {
    if (this.#bytes[this.#at] !== close) return false
    this.#at++
    return true
  }

  /** Behind a member: a comma and another one, or the end. */
  #hasMore(close: number): boolean {
    const byte = this.#bytes[this.#at++]
    if (byte === comma) return true
    if (byte !== close) throw unusual
    return false
  }

  #string(into: Span): void {
    const bytes = this.#bytes
    const end = this.#end
    this.#expect(quote)
    let at = this.#at
    into.start = at
    let seen = 0
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0
      if (byte === quote) break
      if (byte < 0x20) throw unusual
      seen |= byte
      if (byte === backslash) {
        seen |= 0x80
        at++
      }
    }
    if (at >= end) throw unusual
    into.end = at
    into.isPlain = seen < 0x80
    this.#at = at + 1
  }

  #skip(depth: number): void {
    if (depth > depthMax) throw unusual
    const byte = this.#bytes[this.#at]
    if (byte === quote) this.#string(this.#span)
    else if (byte === openBrace) {
      this.#at++
      if (this.#isEnd(closeBrace)) return
      do {
        this.#string(this.#span)
        this.#expect(colon)
        this.#skip(depth + 1)
      } while (this.#hasMore(closeBrace))
    } else if (byte === openBracket) {
      this.#at++
      if (this.#isEnd(closeBracket)) return
      do this.#skip(depth + 1)
      while (this.#hasMore(closeBracket))
    } else this.#scalarEnd()
  }

  #textOf({ start, end, isPlain }: Span): string {
    if (isPlain) return this.#bytes.latin1Slice(start, end)
    try {
      // A string is what is between the quotes.
      return JSON.parse(this.#bytes.utf8Slice(start - 1, end + 1)) as string
    } catch {
      throw unusual
    }
  }

  // ---- Posting.

  /** A string in lower case. One that is not plain ASCII is lowered as a whole. */
  #post(group: number, span: Span): void {
    if (!span.isPlain) {
      this.#poster.text(group, this.#textOf(span).toLowerCase())
      return
    }
    const { table } = this.#poster
    const bytes = this.#bytes
    const length = span.end - span.start
    const arena = table.room(length)
    let place = table.end
    for (let at = span.start; at < span.end; at++) {
      const byte = bytes[at] ?? 0
      arena[place++] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte
    }
    table.post(group, length)
  }

  #postAsIs(group: number, span: Span): void {
    if (span.isPlain) this.#poster.bytes(group, this.#bytes, span.start, span.end)
    else this.#poster.text(group, this.#textOf(span))
  }

  #postSubject(group: number, id: Span, type: Span): void {
    if (!id.isPlain || !type.isPlain) {
      const value = partyValue({ id: this.#textOf(id), type: this.#textOf(type) })
      this.#poster.bytes(group, value, 0, value.length)
      return
    }
    const { table } = this.#poster
    const bytes = this.#bytes
    const arena = table.room(id.end - id.start + 1 + type.end - type.start)
    let place = table.end
    for (let at = id.start; at < id.end; at++) arena[place++] = bytes[at] ?? 0
    arena[place++] = nameEnd
    for (let at = type.start; at < type.end; at++) arena[place++] = bytes[at] ?? 0
    table.post(group, place - table.end)
  }
}

/** `2026-01-31T` */
const dayLength = 11

/** Of `09:30:00.250Z`; not a number if it has another form. */
function timeOfDay(bytes: Uint8Array, at: number): number {
  if (bytes[at + 2] !== colon || bytes[at + 5] !== colon || bytes[at + 8] !== 0x2e)
    return Number.NaN
  const hour = digit(bytes, at) * 10 + digit(bytes, at + 1)
  const minute = digit(bytes, at + 3) * 10 + digit(bytes, at + 4)
  const second = digit(bytes, at + 6) * 10 + digit(bytes, at + 7)
  const ms = digit(bytes, at + 9) * 100 + digit(bytes, at + 10) * 10 + digit(bytes, at + 11)
  return ((hour * 60 + minute) * 60 + second) * 1000 + ms
}

function digit(bytes: Uint8Array, at: number): number {
  const value = (bytes[at] ?? 0) - 0x30
  return value >= 0 && value <= 9 ? value : Number.NaN
}

interface PartyGroups {
  readonly id: number
  readonly type: number
  readonly open: Readonly<Record<"email" | "name", number>>
  readonly sealed: Readonly<Record<"email" | "name", number>>
}

function memberGroups(
  { groups }: EntryPoster,
  party: "actor" | "target",
  owner: Owner,
): Readonly<Record<"email" | "name", number>> {
  return {
    email: groups.ofField([party, "email"], owner, true),
    name: groups.ofField([party, "name"], owner, true),
  }
}
