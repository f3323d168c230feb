// A test aid: random entries, sealed as the ledger seals them, and random searches for their words.
// Names and values that are hard to search are as frequent as plain ones.

import { wordsOf, type Term } from "@tallystick/client/grammar"
import {
  canonicalize,
  encodeRecord,
  isJsonObject,
  parseJson,
  type Json,
  type JsonObject,
  type Kind,
} from "@tallystick/proof"
import { createIds } from "./ids.ts"
import type { Random } from "./random.ts"
import { seal } from "./seal.ts"
import type { Content, Party } from "../store/opened-entry.ts"
import type { Field, Filed, Owner, Wanted } from "../store/search/search.ts"
import type { Stored } from "../store/entries.ts"
import type { Chance } from "../../../../test/chance.ts"

const startMs = Date.parse("2026-01-31T09:30:00Z")

const words = [
  ..."ada adam Ada ADAM Invoice invoices billing 42 4 421 a b ab x-y x_y a.b within the limit".split(
    " ",
  ),
  ..."ΑΣ ΑΣΑ σς ΣΊΣΥΦΟΣ İx ıI İ i̇ K k Å å ß ẞ É e\u0301 É ÉTÉ 😀 😀x ﬀ 𐐀 𐐨 ｱ 漢字 漢 हिन्दी".split(
    " ",
  ),
  "a\0b",
  "\0",
  "\\",
  '"',
  "\\u0041",
  "\n",
  "\u2028",
  "\x7f",
  "\u{10ffff}",
  "",
  " ",
  "a  b",
  "-",
  "*",
]
const names = [
  "a",
  "b",
  "ab",
  "a.b",
  "A",
  "é",
  "order",
  "orderId",
  "a b",
  "\0",
  '"',
  "__x",
  "0",
  "10",
  "_sd2",
  "name",
  "other",
  "metadata",
  "x".repeat(600),
]
const people = ["ada", "Ada", "bob", "x y", "usr_1", "usr_10", "USR_1", "ΑΣ", "a\0b", ""]
const oddIds = [
  "evt_1",
  "evt-01KG9P6JE22EPQ8Q20Y5EPN152VH2R7H69RM",
  "evt_01kg9p6je22epq8q20y5epn152vh2r7h69rm",
  "evt_01KG9P6JE22EPQ8Q20Y5EPN152VH2R7H69RI",
  "evt_01ABC_X",
  "é",
]
const types = ["user", "User", "robot", "subject"]
const projects = ["core", "Core", "core2", "desk", "system"]
const lanes = ["security", "data", "policy", "operations"] as const
const keyIds = ["key_1", "Key_2", "key 3", "\u00c9"]
const kinds: readonly Kind[] = ["event", "event", "event", "consent", "admin", "policy"]

function textBy(chance: Chance): string {
  const count = chance.below(12) === 0 ? chance.below(300) : 1 + chance.below(3)
  return Array.from({ length: count }, () => chance.pick(words)).join(
    chance.pick([" ", "_", ".", ""]),
  )
}

function valueBy(chance: Chance, depth: number): Json {
  switch (chance.below(depth > 3 ? 5 : 8)) {
    case 0:
      return chance.pick([0, 1, -1, 42, 1299.5, 1e21, 1e-7, 123456789012345, -0.001, 5e-324])
    case 1:
      return chance.pick([true, false, null])
    case 5:
      return Array.from({ length: chance.below(4) }, () => valueBy(chance, depth + 1))
    case 6:
      return membersBy(chance, depth + 1)
    default:
      return textBy(chance)
  }
}

function membersBy(chance: Chance, depth: number): JsonObject {
  return Object.fromEntries(
    Array.from({ length: chance.below(4) }, () => [chance.pick(names), valueBy(chance, depth)]),
  )
}

function partyBy(chance: Chance): Party {
  return {
    ...(chance.below(3) === 0 ? { desk: membersBy(chance, 1), note: textBy(chance) } : {}),
    ...(chance.below(2) === 0 ? { email: `${chance.pick(words)}@example.com` } : {}),
    ...(chance.below(2) === 0 ? { name: textBy(chance) } : {}),
    id: chance.pick(people),
    type: chance.pick(types),
  }
}

/** One entry, of this version or an older one. */
export function storedBy(chance: Chance, sequence: number): Stored {
  const { body, ...rest } = sealedBy(chance, sequence)
  const isOlder = body !== undefined && chance.below(9) === 0
  return { ...rest, body: isOlder ? withKeyInClear(chance, body) : body }
}

/** In the form of older versions. An unreadable body stays unreadable. */
function withKeyInClear(chance: Chance, body: Uint8Array): Uint8Array {
  const members = parseJson(Buffer.from(body).toString())
  if (!isJsonObject(members)) return body
  return Buffer.from(canonicalize({ ...members, keyId: chance.pick(keyIds) }))
}

/** One entry. In one of five, the body or the disclosures are missing or unreadable. */
export function sealedBy(chance: Chance, sequence: number): Stored {
  const random: Random = (into) => {
    for (let at = 0; at < into.length; at++) into[at] = chance.below(256)
  }
  const ids = createIds(random)
  const madeMs = startMs + Math.floor(sequence / 3)
  const kind = chance.pick(kinds)
  const fraction = chance.pick(["", ".5", ".250", ".123456789"])
  const zone = chance.pick(["Z", "+02:00", "z"])
  const time = new Date(startMs + chance.below(86_400_000)).toISOString().slice(0, 19)
  const content: Content = {
    id: chance.below(5) === 0 ? chance.pick(oddIds) : ids("evt", madeMs),
    receipt: ids("rcp", chance.below(9) === 0 ? madeMs + 5 : madeMs),
    workspaceId: "acme",
    projectId: chance.pick(projects),
    action: chance.below(3) === 0 ? textBy(chance) : "billing.invoice.approve",
    actor: partyBy(chance),
    target: partyBy(chance),
    occurredAt: `${time}${fraction}${zone}`,
    receivedAt: "2026-01-31T09:30:00.000Z",
    source: chance.pick(["api", "web", "API"]),
    userVisible: chance.below(3) > 0,
    lane: chance.pick(lanes),
    metadata: membersBy(chance, 0),
    ...(chance.below(3) === 0 ? { keyId: chance.pick(keyIds) } : {}),
    ...(chance.below(3) === 0 ? { context: { traceId: `Trace ${chance.below(9)}` } } : {}),
  }
  const personalKeys = chance.pick([[], [], ["*"], ["a", "name", "other", "metadata"], ["order"]])
  const sealed = seal(kind, content, undefined, { personalKeys, random })
  const none = new Uint8Array(32)
  const record = encodeRecord({
    kind,
    index: sequence - 1,
    timeMs: madeMs,
    ledgerId: none,
    previousHash: none,
    bodyHash: sealed.bodyHash,
  })
  return damagedBy(chance, { ...sealed, workspace: "acme", sequence, record })
}

function damagedBy(chance: Chance, stored: Stored): Stored {
  switch (chance.below(50)) {
    case 0:
      return { ...stored, body: undefined, bodySalt: undefined, disclosures: "" }
    case 1:
      return { ...stored, disclosures: "" }
    case 2:
      return { ...stored, disclosures: stored.disclosures.split("~").slice(1).join("~") }
    case 3:
      return { ...stored, body: stored.body?.subarray(0, chance.below(stored.body.length)) }
    default:
      return stored
  }
}

// ---- Searches.

/** A search, in most cases for a word of one of these entries. */
export function wantedBy(chance: Chance, entries: readonly Filed[]): Wanted {
  const maybe = <T extends object>(times: number, make: () => T): T | object =>
    chance.below(times) === 0 ? make() : {}
  const instant = () => {
    const { occurredMs, occurredNs } = chance.pick(entries)
    return { ms: occurredMs + chance.below(2), ns: chance.pick([occurredNs, 0, 500]) }
  }
  const sequence = () => chance.pick(entries).sequence + chance.below(3) - 1
  const query = chance.below(4) > 0
  return {
    system: chance.pick(["without", "with", "with", "only"] as const),
    ...maybe(4, () => ({ projectIds: [chance.pick(projects), chance.pick(projects)] })),
    ...maybe(5, () => ({ lane: chance.pick(lanes) })),
    ...maybe(5, () => ({ userVisible: chance.below(2) === 0 })),
    ...maybe(6, () => ({ from: instant() })),
    ...maybe(6, () => ({ to: instant() })),
    ...maybe(6, () => ({ firstSequence: sequence() })),
    ...maybe(6, () => ({ lastSequence: sequence() })),
    ...(query && {
      query: { terms: Array.from({ length: 1 + chance.below(3) }, () => termBy(chance, entries)) },
    }),
    ...maybe(4, () => {
      const { actor, target } = chance.pick(entries)
      const { id, type } = chance.pick([actor, target])
      return { subject: { id, types: [type, chance.pick(types)] } }
    }),
  }
}

function fieldBy(chance: Chance, entries: readonly Filed[]): Field {
  const { fields } = chance.pick(entries)
  const owner = chance.pick(["nobody", "actor", "target"] satisfies readonly Owner[])
  const { [owner]: own } = fields
  const list = own.length === 0 ? fields.nobody : own
  return list.length === 0 ? { names: ["action"], value: "", isText: true } : chance.pick(list)
}

function termBy(chance: Chance, entries: readonly Filed[]): Term {
  const { names: fieldNames, value } = fieldBy(chance, entries)
  const not = chance.below(5) === 0
  const cased = chance.pick([value, value.toUpperCase(), value.toLowerCase()])
  const characters = Array.from(cased.slice(0, 400))
  const isCut = chance.below(3) === 0
  const said = isCut ? characters.slice(0, 1 + chance.below(characters.length)).join("") : cased
  const isPrefix = isCut || chance.below(4) === 0
  // A query has 512 bytes, so it names no field with a longer name.
  const shortNames = fieldNames.filter((name) => Buffer.byteLength(name) <= 512)
  if (shortNames.length > 0 && chance.below(2) === 0)
    return { kind: "field", not, field: chance.pick(shortNames), value: said, isPrefix }
  const inside = wordsOf(said)
  const start = chance.below(inside.length)
  const some = inside.slice(start, start + 1 + chance.below(3))
  return { kind: "text", not, words: some.length === 0 ? ["ada"] : some, isPrefix }
}
