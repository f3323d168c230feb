// Reads the searchable values of an entry from its stored bytes, without making objects: bodies are
// canonical JSON, because the ledger wrote them. The result is that of `filedOf`, for less than
// half of its cost. An entry that looks unusual in any way is left to `filedOf`.

import { hash } from "node:crypto"
import { kindOf, kinds, recordBytes } from "@tallystick/proof"
import { bufferOf } from "../../runtime/buffer-of.ts"
import type { Stored } from "../entries.ts"
import { instantOf } from "../instant.ts"
import type { EntryPoster, IdField } from "./entry-poster.ts"
import { nameEnd, partyValue } from "./key-groups.ts"
import { isAt, NameList, PathNode } from "./metadata-paths.ts"
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

/** The position of a string, between its quotes. */
interface Span {
  start: number
  end: number
  /** It has only ASCII characters and no escape. */
  isPlain: boolean
}

/** A place that holds sealed members, and their digests. */
interface Place {
  /** Whose its sealed members are. */
  readonly owner: Owner
  count: number
  /** The position of the first digest. The others follow, each after `","`. */
  start: number
  /** How many of them have no claim yet. */
  left: number
}

interface Party extends Place {
  readonly id: Span
  readonly type: Span
  readonly idGroup: number
  readonly filter: number
  readonly open: PartyGroups
  readonly sealed: PartyGroups
}

/** SHA-256 in base64url. */
const digestLength = 43
/** Of strings: what is neither the end, nor an escape, nor unusual, nor more than one byte. */
const plain = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === quote || byte === backslash || byte >= 0x80 ? 0 : 1,
)
const lowered = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
)
const systemBytes = Buffer.from(systemProject)
const digestsName = Buffer.from("_sd")
const kindNames = new Map(Object.keys(kinds).map((kind) => [kind, Buffer.from(kind)]))

const membersOfBody = ["_sd", "actor", "target", "metadata", "keyId", "userVisible"] as const
const membersOfParty = ["_sd", "id", "type", "email", "name"] as const
const membersOfContext = ["traceId", "keyId"] as const

/** The known ones of an object's members. */
function membersOf<N extends string>(known: readonly N[]): NameList<N | undefined> {
  return new NameList((name) => known.find((one) => one === name))
}

export class EntryScanner {
  readonly #poster: EntryPoster
  readonly #groups: Readonly<
    Record<"id" | "receipt" | "action" | "project" | "source" | "lane" | "kind" | "type", number>
  >
  readonly #actor: Party
  readonly #target: Party
  readonly #ofMetadata: Place = placeOf("actor")
  readonly #ofBody: Place = placeOf("actor")
  /** In the order in which a digest is looked for. */
  readonly #places: readonly Place[]
  readonly #trace: number
  readonly #key: number
  readonly #metadata: PathNode
  readonly #nameless: PathNode
  readonly #partyMembers = membersOf(membersOfParty)
  readonly #contextMembers = membersOf(membersOfContext)
  readonly #claimNames = new NameList((name) => name)

  /** The bytes that are being read, and their end. */
  #bytes: Buffer = Buffer.alloc(0)
  #end = 0
  #at = 0
  /** These are packed disclosures. */
  #isPacked = false
  readonly #span: Span = spanOf()
  readonly #said = saidSpans()
  /** The members of a body: the place of a text, or the name of another one that is known. */
  readonly #bodyMembers = new NameList(
    (name) =>
      new Map(Object.entries(this.#said)).get(name) ?? membersOfBody.find((one) => one === name),
  )
  /** What every body has. */
  readonly #needed: readonly Span[]
  #scratch: Buffer = Buffer.alloc(4096)
  /** The day of the last entry, because the next one is most often of the same day. */
  #day: { readonly text: Uint8Array; readonly ms: number } = { text: new Uint8Array(1), ms: 0 }

  constructor(poster: EntryPoster) {
    const { groups, filters } = poster
    this.#poster = poster
    const text = (name: string): number => groups.ofField([name], "nobody", true)
    const exact = (name: string, owner: Owner = "nobody"): number =>
      groups.ofField([name], owner, false)
    this.#groups = {
      id: text("id"),
      receipt: text("receipt"),
      action: text("action"),
      project: exact("project"),
      source: exact("source"),
      lane: exact("lane"),
      kind: exact("kind"),
      type: exact("type"),
    }
    const party = (owner: "actor" | "target"): Party => ({
      ...placeOf(owner),
      id: spanOf(),
      type: spanOf(),
      idGroup: text(owner),
      filter: filters[owner],
      open: memberGroups(poster, owner, "nobody"),
      sealed: memberGroups(poster, owner, owner),
    })
    const [actor, target] = [party("actor"), party("target")]
    this.#actor = actor
    this.#target = target
    this.#places = [actor, target, this.#ofMetadata, this.#ofBody]
    this.#needed = [...Object.values(this.#said), actor.id, actor.type, target.id, target.type]
    this.#trace = exact("trace", "actor")
    this.#key = exact("key", "actor")
    this.#metadata = new PathNode(poster, "metadata")
    this.#nameless = new PathNode(poster, undefined)
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
    const kindName = kind === undefined ? undefined : kindNames.get(kind)
    if (body === undefined || kindName === undefined) throw unusual
    const bytes = bufferOf(body)
    this.#read(bytes, 0, bytes.length)
    for (const span of this.#needed) span.end = -1
    for (const place of this.#places) place.count = place.left = 0
    const isVisible = this.#body()
    if (this.#at !== this.#end) throw unusual
    for (const span of this.#needed) if (span.end < 0) throw unusual
    this.#poster.bytes(this.#groups.kind, kindName, 0, kindName.length)
    this.#postSaid(isVisible)
    const packed = stored.packedDisclosures
    if (packed === undefined) this.#disclosed(bytes, stored.disclosures)
    else this.#disclosedPacked(bytes, bufferOf(packed))
  }

  #read(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes
    this.#end = end
    this.#at = start
    this.#isPacked = false
  }

  // ---- The body.

  /** Whether it is visible to its people. */
  #body(): boolean {
    let isVisible = false
    this.#expect(openBrace)
    do {
      const member = this.#memberName(this.#bodyMembers)
      switch (member) {
        case "_sd":
          this.#digestsOf(this.#ofBody)
          break
        case "actor":
          this.#partyOf(this.#actor)
          break
        case "target":
          this.#partyOf(this.#target)
          break
        case "metadata":
          if (this.#bytes[this.#at] !== openBrace) throw unusual
          this.#object(this.#metadata, "nobody", 1, this.#ofMetadata)
          break
        case "keyId":
          this.#postString(this.#key)
          break
        case "userVisible":
          isVisible = this.#bytes[this.#at] === 0x74
          this.#skip(0)
          break
        case undefined:
          this.#skip(0)
          break
        default:
          this.#string(member)
      }
    } while (this.#hasMore(closeBrace))
    return isVisible
  }

  #memberName<T>(names: NameList<T>): T {
    const name = this.#name(names)
    this.#expect(colon)
    return name
  }

  /** A name, by what is known of it. */
  #name<T>(names: NameList<T>): T {
    const found = this.#found(names)
    if (found >= 0) return names.value(found)
    const span = this.#span
    this.#string(span)
    if (!span.isPlain) throw unusual
    return names.add(this.#textOf(span))
  }

  /** The number of the name that is next, if it is in the list; else -1. */
  #found(names: NameList<unknown>): number {
    const found = names.find(this.#bytes, this.#at)
    if (found >= 0) this.#at += names.lengthOf(found)
    return found
  }

  #partyOf(party: Party): void {
    this.#expect(openBrace)
    do {
      switch (this.#memberName(this.#partyMembers)) {
        case "_sd":
          this.#digestsOf(party)
          break
        case "id":
          this.#string(party.id)
          break
        case "type":
          this.#string(party.type)
          break
        case "email":
          this.#postString(party.open.email)
          break
        case "name":
          this.#postString(party.open.name)
          break
        case undefined:
          this.#skip(0)
      }
    } while (this.#hasMore(closeBrace))
  }

  /** The members that every body has, for filters. */
  #postSaid(isVisible: boolean): void {
    const poster = this.#poster
    const { ids, filters } = poster
    const groups = this.#groups
    const { id, receipt, action, projectId, occurredAt, source, lane } = this.#said
    this.#postTime(occurredAt)
    this.#postId(ids.id, groups.id, id)
    this.#postId(ids.receipt, groups.receipt, receipt)
    this.#post(groups.action, action)
    this.#post(groups.project, projectId)
    this.#post(groups.source, source)
    this.#post(groups.lane, lane)
    this.#postAsIs(filters.lane, lane)
    this.#postAsIs(filters.project, projectId)
    const { start, end } = projectId
    const isSystem = end - start === systemBytes.length && isAt(systemBytes, this.#bytes, start)
    poster.filter(isSystem, isVisible)
    this.#postParty(this.#actor, isVisible)
    this.#postParty(this.#target, isVisible)
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
    if (isAt(text, this.#bytes, start)) return ms
    const asked = this.#bytes.latin1Slice(start, start + dayLength)
    const instant = instantOf(`${asked}00:00:00Z`)
    if (instant !== undefined) this.#day = { text: Buffer.from(asked), ms: instant.ms }
    return instant?.ms
  }

  #postId(field: IdField, group: number, span: Span): void {
    if (!span.isPlain || !this.#poster.id(field, this.#bytes, span.start, span.end))
      this.#post(group, span)
  }

  #postParty({ id, type, idGroup, filter }: Party, isVisible: boolean): void {
    this.#post(idGroup, id)
    this.#post(this.#groups.type, type)
    if (isVisible) this.#postSubject(filter, id, type)
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
  #object(node: PathNode, owner: Owner, depth: number, place: Place | undefined): void {
    if (depth > depthMax) throw unusual
    this.#at++
    if (this.#isEnd(closeBrace)) return
    const { known } = node
    do {
      const found = known === undefined ? -1 : this.#found(known)
      if (known !== undefined && found >= 0) {
        this.#expect(colon)
        this.#value(known.value(found), owner, depth)
        continue
      }
      const span = this.#span
      this.#string(span)
      this.#expect(colon)
      // What the metadata itself calls `_sd` is no member of it.
      const isDigests =
        depth === 1 &&
        span.end - span.start === digestsName.length &&
        isAt(digestsName, this.#bytes, span.start)
      if (isDigests && place !== undefined) this.#digestsOf(place)
      else if (isDigests) this.#skip(0)
      else this.#value(this.#childOf(node, span), owner, depth)
    } while (this.#hasMore(closeBrace))
  }

  #childOf(node: PathNode, span: Span): PathNode {
    const name = this.#textOf(span)
    return span.isPlain && node.known !== undefined ? node.known.add(name) : node.child(name)
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

  #disclosedPacked(body: Buffer, bytes: Buffer): void {
    this.#read(bytes, 0, bytes.length)
    this.#isPacked = true
    for (;;) {
      this.#disclosure(body, undefined)
      if (this.#at === this.#end) return
      this.#expect(betweenPacked)
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
      this.#read(this.#scratch, 0, length)
      this.#disclosure(body, disclosure)
      if (this.#at !== this.#end) throw unusual
    }
  }

  /** `text` is what its bytes are in base64url, where it is known. */
  #disclosure(body: Buffer, text: string | undefined): void {
    const start = this.#at
    this.#expect(openBracket)
    this.#string(this.#span)
    this.#expect(comma)
    const name = this.#claimName()
    this.#expect(comma)
    this.#claim(name, this.#onlyPlaceOf(name) ?? this.#placeByDigest(body, text, start))
    this.#expect(closeBracket)
  }

  #claimName(): string {
    const names = this.#claimNames
    const found = this.#found(names)
    if (found >= 0) return names.value(found)
    this.#string(this.#span)
    const name = this.#textOf(this.#span)
    return this.#span.isPlain ? names.add(name) : name
  }

  #claim(name: string, place: Place): void {
    place.left--
    const isObject = this.#bytes[this.#at] === openBrace
    if (place === this.#ofMetadata) {
      if (name === "_sd") throw unusual
      this.#value(this.#metadata.child(name), "actor", 1)
    } else if (place === this.#ofBody) {
      if (name === "context" && isObject) this.#context()
      else if (name === "metadata" && isObject) this.#object(this.#metadata, "actor", 1, undefined)
      else this.#skip(0)
    } else {
      const { sealed, owner } = place === this.#actor ? this.#actor : this.#target
      if (name === "email") this.#postString(sealed.email)
      else if (name === "name") this.#postString(sealed.name)
      else if (name === "other" && isObject) this.#object(this.#nameless, owner, 2, undefined)
      else this.#skip(0)
    }
  }

  #context(): void {
    this.#at++
    if (this.#isEnd(closeBrace)) return
    do {
      switch (this.#memberName(this.#contextMembers)) {
        case "traceId":
          this.#postString(this.#trace)
          break
        case "keyId":
          this.#postString(this.#key)
          break
        case undefined:
          this.#skip(0)
      }
    } while (this.#hasMore(closeBrace))
  }

  /** The member that is next, if it is a string. */
  #postString(group: number): void {
    if (this.#bytes[this.#at] !== quote) return this.#skip(0)
    this.#string(this.#span)
    this.#post(group, this.#span)
  }

  /**
   * Whose claim it is, if one place alone can still have it: a party seals `email`, `name` and
   * `other`, the body `context` and `metadata`, and metadata any name.
   */
  #onlyPlaceOf(name: string): Place | undefined {
    const isParty = name === "email" || name === "name" || name === "other"
    const isTop = name === "context" || name === "metadata"
    let found: Place | undefined
    for (const place of this.#places) {
      if (place.left <= 0) continue
      if (place === this.#ofBody ? !isTop : place !== this.#ofMetadata && !isParty) continue
      if (found !== undefined) return undefined
      found = place
    }
    return found
  }

  /** Of a disclosure that begins there. */
  #placeByDigest(body: Buffer, text: string | undefined, start: number): Place {
    const found = text === undefined ? this.#bytes.indexOf(betweenPacked, start) : this.#end
    const end = found < 0 ? this.#end : found
    const disclosure = text ?? this.#bytes.base64urlSlice(start, end)
    const digest = hash("sha256", disclosure, "base64url")
    for (const place of this.#places)
      for (let at = 0; at < place.count; at++)
        if (isTextAt(digest, body, place.start + at * (digestLength + 3))) return place
    throw unusual
  }

  /** An array of digests: the position of the first, and their number. */
  #digestsOf(place: Place): void {
    const span = this.#span
    this.#expect(openBracket)
    place.start = this.#at + 1
    do {
      this.#string(span)
      if (span.end - span.start !== digestLength) throw unusual
      place.count++
    } while (this.#hasMore(closeBracket))
    place.left = place.count
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
    let at = this.#at
    if (bytes[at++] !== quote) throw unusual
    into.start = at
    while (plain[bytes[at] ?? 0] === 1) at++
    into.isPlain = bytes[at] === quote
    if (!into.isPlain) at = this.#endOfString(at)
    if (at >= this.#end) throw unusual
    into.end = at
    this.#at = at + 1
  }

  /** The end of a string that has escapes or characters of several bytes. */
  #endOfString(start: number): number {
    const bytes = this.#bytes
    let at = start
    for (; at < this.#end && bytes[at] !== quote; at++) {
      const byte = bytes[at] ?? 0
      if (byte < 0x20 || (byte === betweenPacked && this.#isPacked)) throw unusual
      if (byte === backslash) at++
    }
    return at
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
    const { start, end } = span
    const arena = table.room(end - start)
    let place = table.end
    for (let at = start; at < end; at++) arena[place++] = lowered[bytes[at] ?? 0] ?? 0
    table.post(group, end - start)
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

/** Whether this ASCII text stands there. */
function isTextAt(text: string, bytes: Uint8Array, from: number): boolean {
  for (let at = 0; at < text.length; at++)
    if (text.charCodeAt(at) !== bytes[from + at]) return false
  return true
}

/** `2026-01-31T` */
const dayLength = 11
/** Stands between packed disclosures. UTF-8 has no such byte. */
const betweenPacked = 0xff

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
  readonly email: number
  readonly name: number
}

function memberGroups(
  { groups }: EntryPoster,
  party: "actor" | "target",
  owner: Owner,
): PartyGroups {
  return {
    email: groups.ofField([party, "email"], owner, true),
    name: groups.ofField([party, "name"], owner, true),
  }
}

function saidSpans(): Readonly<Record<(typeof saidTexts)[number], Span>> {
  const spans = saidTexts.map((name) => [name, spanOf()])
  return Object.fromEntries(spans) as Record<(typeof saidTexts)[number], Span> // every name is given
}

function spanOf(): Span {
  return { start: 0, end: 0, isPlain: true }
}

function placeOf(owner: Owner): Place {
  return { owner, count: 0, start: 0, left: 0 }
}
