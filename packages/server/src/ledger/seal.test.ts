import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import oracle from "canonicalize"
import fc from "fast-check"
import { encodeRecord, type Json, type JsonObject, type Kind } from "@tallystick/proof"
import {
  contentFor,
  disclosuresFor,
  disclosuresOf,
  openEntry,
  type Content,
  type Party,
} from "../store/opened-entry.ts"
import type { Stored } from "../store/entries.ts"
import { pooledRandom } from "./random.ts"
import { seal, type SealedEntry } from "./seal.ts"

const sha256 = (...parts: readonly (string | Uint8Array)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest()

/** The value after a round trip through JSON, which has no negative zero. */
const json = <T extends Json>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const reserved = ["_sd", "_sd_alg", "...", "__proto__"]
/** `unit: "binary"` makes a map of all of them first, which takes a second. */
const codePoint = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: codePoint, maxLength: 8 }),
  fc.constantFrom(
    "",
    "\u2028\u0000\u007f",
    '"_sd":',
    '\\"_sd":["',
    "\\ud800",
    "\u{1f600}é\ufb33",
    "ａ".repeat(1500),
  ),
)
const name = fc
  .oneof(
    fc.constantFrom(
      "0",
      "10",
      "9",
      "A",
      "other",
      "metadata",
      "toString",
      "é",
      "\u{1f600}",
      "\ufb33",
      "a~b",
    ),
    text,
  )
  .filter((member) => !reserved.includes(member))
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1e21, 1e-7, 5e-324, 0.1, 9007199254740991),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    text,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<Json>,
  ),
}))
const members = fc
  .dictionary(name, value, { maxKeys: 5, noNullPrototype: true })
  .map((object): JsonObject => json(object))
const party = fc
  .record({
    further: members,
    own: fc.record({ email: text, name: text }, { requiredKeys: [], noNullPrototype: true }),
    id: text,
    type: text,
  })
  .map(
    ({
      further: { id: _, type: __, email: ___, name: ____, ...further },
      own,
      id,
      type,
    }): Party => ({ ...further, ...own, id, type }),
  )
const said = fc.record({
  kind: fc.constantFrom<Kind>("event", "consent", "admin", "policy"),
  actor: party,
  target: party,
  metadata: members,
  /** Of the metadata's members those at these places, and some that are not there. */
  personal: fc.oneof(
    fc.constant("none" as const),
    fc.constant("all" as const),
    fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 4 }),
  ),
  idem: fc.option(fc.constant("AAAAAAAAAAAAAAAAAAAAAA"), { nil: undefined }),
  rest: fc.record(
    {
      policyVersion: fc.integer({ min: 1 }),
      clockAhead: fc.constant(true as const),
      keyId: text,
      context: fc.record(
        { requestId: text, server: text },
        { requiredKeys: ["requestId"], noNullPrototype: true },
      ),
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
})

const fixed = {
  id: "evt_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  receipt: "rcp_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  occurredAt: "2026-01-01T00:00:00Z",
  receivedAt: "2026-01-01T00:00:00.123Z",
  source: "api",
  userVisible: false,
  lane: "operations",
} as const

function storedOf(kind: Kind, sealed: SealedEntry): Stored {
  const zero = new Uint8Array(32)
  const record = encodeRecord({
    kind,
    index: 6,
    timeMs: 7,
    ledgerId: zero,
    previousHash: zero,
    bodyHash: sealed.bodyHash,
  })
  return { workspace: "acme", sequence: 7, record, ...sealed }
}

/** The claims of an object's digests, by an independent implementation of RFC 9901. */
function claimsOf(object: JsonObject, disclosures: readonly string[]): JsonObject {
  const digests = (object["_sd"] ?? []) as string[]
  const known = new Map(
    disclosures.map((disclosure) => [
      sha256(disclosure).toString("base64url"),
      JSON.parse(Buffer.from(disclosure, "base64url").toString()) as [string, string, Json],
    ]),
  )
  return Object.fromEntries(
    digests.map((digest) => {
      const [salt, claim, disclosed] =
        known.get(digest) ?? assert.fail("a digest has no disclosure")
      assert.equal(Buffer.from(salt, "base64url").length, 16)
      return [claim, disclosed]
    }),
  )
}

test("a sealed entry opens to the same content, and its body equals that of an independent canonicalizer", () => {
  const random = pooledRandom()
  fc.assert(
    fc.property(said, ({ kind, actor, target, metadata, personal, idem, rest }) => {
      const names = Object.keys(metadata)
      const personalKeys =
        personal === "none"
          ? []
          : personal === "all"
            ? ["*"]
            : personal.map((place) => names[place] ?? "absent").filter((key) => key !== "*")
      const content: Content = { ...fixed, actor, target, metadata, ...rest }
      const sealed = seal(kind, content, idem, { personalKeys, random })

      const opened = openEntry(storedOf(kind, sealed), disclosuresOf(storedOf(kind, sealed)))
      assert.deepEqual(opened?.content, content)
      assert.equal(opened?.kind, kind)

      const body = Buffer.from(sealed.body).toString("utf8")
      assert.equal(
        sha256("ALB1", sealed.bodySalt, sealed.body).toString("hex"),
        Buffer.from(sealed.bodyHash).toString("hex"),
      )
      const parsed = JSON.parse(body) as JsonObject & {
        actor: JsonObject
        target: JsonObject
        metadata?: JsonObject
      }
      const disclosures = sealed.disclosures === "" ? [] : sealed.disclosures.split("~")
      for (const disclosure of disclosures) {
        const parts = Buffer.from(disclosure, "base64url").toString("utf8")
        assert.equal(oracle(JSON.parse(parts)), parts)
      }
      const split = (whole: Party, nameStays: boolean) => {
        const { id, type, email, name: called, ...other } = whole
        const shown = { id, type, ...(nameStays && called !== undefined ? { name: called } : {}) }
        const hidden = {
          ...(email === undefined ? {} : { email }),
          ...(called === undefined || nameStays ? {} : { name: called }),
          ...(Object.keys(other).length > 0 ? { other } : {}),
        }
        return { shown, hidden }
      }
      const sdOf = (hidden: object, object: JsonObject | undefined) =>
        Object.keys(hidden).length > 0
          ? { _sd: [...((object?.["_sd"] ?? []) as string[])].sort() }
          : {}
      const parties = { actor: split(actor, false), target: split(target, kind !== "event") }
      const hiddenMembers =
        personal === "all"
          ? {}
          : Object.fromEntries(
              Object.entries(metadata).filter(([key]) => personalKeys.includes(key)),
            )
      const shownMembers = Object.fromEntries(
        Object.entries(metadata).filter(([key]) => !personalKeys.includes(key)),
      )
      const { keyId, context: said, ...open } = rest
      const context = { ...said, ...(keyId === undefined ? {} : { keyId }) }
      const top = {
        ...(personal === "all" ? { metadata } : {}),
        ...(Object.keys(context).length === 0 ? {} : { context }),
      }
      assert.deepEqual(claimsOf(parsed.actor, disclosures), parties.actor.hidden)
      assert.deepEqual(claimsOf(parsed.target, disclosures), parties.target.hidden)
      assert.deepEqual(claimsOf(parsed.metadata ?? {}, disclosures), hiddenMembers)
      assert.deepEqual(claimsOf(parsed, disclosures), top)

      const expected = {
        ...fixed,
        ...open,
        v: 1,
        ...(idem === undefined ? {} : { idem }),
        actor: { ...parties.actor.shown, ...sdOf(parties.actor.hidden, parsed.actor) },
        target: { ...parties.target.shown, ...sdOf(parties.target.hidden, parsed.target) },
        ...(personal === "all"
          ? {}
          : { metadata: { ...shownMembers, ...sdOf(hiddenMembers, parsed.metadata) } }),
        ...sdOf(top, parsed),
        ...(disclosures.length > 0 ? { _sd_alg: "sha-256" } : {}),
      }
      assert.equal(body, oracle(expected))
    }),
    { numRuns: 1000 },
  )
})

test("the salts of the format's test vector give its digests", () => {
  const vectors = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../../../test/vectors/format-vectors.json"), "utf8"),
  )
  const [event] = vectors.ledger.events
  let next = 0
  const counting = (into: Uint8Array) => {
    for (let at = 0; at < into.length; at++) into[at] = next++
  }
  const content: Content = {
    ...fixed,
    actor: { id: "usr_1", type: "user", email: "ada@example.com" },
    target: { id: "inv_9", type: "invoice", name: "Invoice 9 – Österfjärd" },
    metadata: {},
  }
  const first = Buffer.from(JSON.stringify(event), "utf8").toString()
  const named = /"(WyJFQkVTRXhRVkZoY1lHUm9iSEIwZUh3[\w-]+)"/.exec(first)?.[1] ?? ""
  const target = JSON.parse(Buffer.from(named, "base64url").toString()) as [string, string, string]
  const sealed = seal(
    "event",
    { ...content, target: { ...content.target, name: target[2] } },
    undefined,
    {
      personalKeys: [],
      random: counting,
    },
  )
  assert.equal(
    sealed.disclosures,
    `WyJBQUVDQXdRRkJnY0lDUW9MREEwT0R3IiwiZW1haWwiLCJhZGFAZXhhbXBsZS5jb20iXQ~${named}`,
  )
  const body = Buffer.from(sealed.body).toString()
  assert.ok(body.includes('"_sd":["ZFYwRgO6POM3-Jp1fm2zmXqGjDI0BWvTwfbFd8K1-AI"]'))
  assert.ok(body.includes('"_sd":["6pQciW8vKQg5UZ8M-USI6bwkcMNv9Fl-a9nwBT2MBts"]'))
  assert.equal(Buffer.from(sealed.bodySalt).toString("hex"), "202122232425262728292a2b2c2d2e2f")
})

test("no salt is used twice, even if an entry needs many", () => {
  const metadata = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, at]))
  const random = pooledRandom()
  const salts = new Set<string>()
  for (let count = 0; count < 100; count++) {
    const sealed = seal(
      "event",
      { ...fixed, actor: { id: "a", type: "user" }, target: { id: "t", type: "thing" }, metadata },
      undefined,
      {
        personalKeys: Object.keys(metadata),
        random,
      },
    )
    salts.add(Buffer.from(sealed.bodySalt).toString("base64url"))
    for (const disclosure of sealed.disclosures.split("~"))
      salts.add(JSON.parse(Buffer.from(disclosure, "base64url").toString())[0])
  }
  assert.equal(salts.size, 100 * 301)
})

test("what a reader sees of an opened entry is what their own disclosures open", () => {
  const random = pooledRandom()
  fc.assert(
    fc.property(said, ({ kind, actor, target, metadata, rest }) => {
      const content: Content = { ...fixed, actor, target, metadata, ...rest }
      const stored = storedOf(kind, seal(kind, content, undefined, { personalKeys: ["*"], random }))
      const opened = openEntry(stored, disclosuresOf(stored)) ?? assert.fail("it cannot be opened")
      for (const sight of ["actor", "target", "none"] as const) {
        const expected = openEntry(stored, disclosuresFor(stored, sight))?.content
        assert.deepEqual(contentFor(opened, sight), expected, sight)
      }
    }),
  )
})

test("an entry with the deepest allowed nesting can be sealed and opened", () => {
  const nested = (depth: number): Json => (depth === 0 ? 1 : { deeper: nested(depth - 1) })
  const random = pooledRandom()
  // The event itself is the first of 32 levels.
  const content: Content = {
    ...fixed,
    actor: { id: "a", type: "user", more: nested(30) },
    target: { id: "t", type: "thing" },
    metadata: nested(31) as JsonObject,
  }
  for (const personalKeys of [[], ["*"], ["deeper"]]) {
    const stored = storedOf("event", seal("event", content, undefined, { personalKeys, random }))
    assert.deepEqual(openEntry(stored, disclosuresOf(stored))?.content, content)
  }
})

test("a changed disclosure, or one of another entry, opens nothing", () => {
  const random = pooledRandom()
  const make = (email: string) =>
    seal(
      "event",
      {
        ...fixed,
        actor: { id: "a", type: "user", email },
        target: { id: "t", type: "thing" },
        metadata: {},
      },
      undefined,
      {
        personalKeys: [],
        random,
      },
    )
  const [mine, other] = [make("ada@example.com"), make("bob@example.com")]
  assert.notEqual(openEntry(storedOf("event", mine), [mine.disclosures]), undefined)
  assert.equal(openEntry(storedOf("event", mine), [other.disclosures]), undefined)
  assert.equal(openEntry(storedOf("event", mine), [mine.disclosures, mine.disclosures]), undefined)
  assert.equal(openEntry(storedOf("event", mine), [`${mine.disclosures.slice(0, -1)}A`]), undefined)
  assert.equal(
    "email" in (openEntry(storedOf("event", mine), [])?.content.actor ?? {}),
    false,
    "withheld is absent",
  )
})

test("a body names the hash whenever a member is sealed, at any level", () => {
  const random = pooledRandom()
  for (const open of ["A", "0", "_", "_sc", "_se", "a"]) {
    const content: Content = {
      ...fixed,
      actor: { id: "a", type: "user" },
      target: { id: "t", type: "thing" },
      metadata: { [open]: 1, secret: 2 },
    }
    const body = JSON.parse(
      Buffer.from(
        seal("event", content, undefined, { personalKeys: ["secret"], random }).body,
      ).toString(),
    )
    assert.equal(body["_sd_alg"], "sha-256", open)
  }
  // What only looks like it is none.
  const innocent: Content = {
    ...fixed,
    actor: { id: '"_sd":', type: "user" },
    target: { id: "t", type: '{"_sd":[' },
    metadata: { 'a"_sd': '"_sd":["' },
  }
  assert.equal(
    "_sd_alg" in
      JSON.parse(
        Buffer.from(
          seal("event", innocent, undefined, { personalKeys: ["b"], random }).body,
        ).toString(),
      ),
    false,
  )
})

test("the key id of older versions, in clear outside the context, is read too", () => {
  const parties = {
    actor: { id: "usr_1", type: "user" },
    target: { id: "inv_1", type: "invoice" },
    metadata: {},
  }
  for (const context of [undefined, { requestId: "r-1" }]) {
    const content = { ...fixed, ...parties, ...(context && { context }) }
    const sealed = seal("event", content, undefined, { personalKeys: [], random: pooledRandom() })
    const body = Buffer.from(
      Buffer.from(sealed.body).toString().replace('"lane"', '"keyId":"0123456789abc","lane"'),
    )
    const stored = storedOf("event", { ...sealed, body })
    assert.deepEqual(openEntry(stored, disclosuresOf(stored))?.content, {
      ...content,
      keyId: "0123456789abc",
    })
  }
})
