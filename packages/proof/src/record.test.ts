import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import {
  encodeRecord,
  eventHash,
  kindOf,
  kinds,
  parseRecord,
  recordBytes,
  writeRecord,
  type Kind,
  type RecordFields,
} from "./record.ts"

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
const integer = fc.oneof(
  fc.maxSafeNat(),
  fc.constantFrom(
    0,
    1,
    255,
    256,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 32 + 1,
    2 ** 48,
    Number.MAX_SAFE_INTEGER,
  ),
)
const fields: fc.Arbitrary<RecordFields> = fc.record(
  {
    kind: fc.constantFrom(...(Object.keys(kinds) as Kind[])),
    index: integer,
    timeMs: integer,
    ledgerId: hash,
    previousHash: hash,
    bodyHash: hash,
  },
  { noNullPrototype: true },
)

/** Written the slow way, from the table of the format alone. */
function expected({
  kind,
  index,
  timeMs,
  ledgerId,
  previousHash,
  bodyHash,
}: RecordFields): Uint8Array {
  const head = Buffer.alloc(22)
  head.write("ALR1", "latin1")
  head[4] = [
    "",
    "event",
    "consent",
    "policy",
    "erasure",
    "key",
    "anchor",
    "retention",
    "admin",
  ].indexOf(kind)
  head.writeBigUInt64BE(BigInt(index), 6)
  head.writeBigUInt64BE(BigInt(timeMs), 14)
  return new Uint8Array(Buffer.concat([head, ledgerId, previousHash, bodyHash]))
}

test("a record has the bytes of the table and parses back", () => {
  fc.assert(
    fc.property(fields, (given) => {
      const record = encodeRecord(given)
      assert.deepEqual(record, expected(given))
      assert.deepEqual(parseRecord(record), given)
      const leaf = createHash("sha256").update("\0").update(record).digest("hex")
      assert.equal(Buffer.from(eventHash(record)).toString("hex"), leaf)
    }),
  )
})

test("a record is written into the middle of other bytes without touching them", () => {
  fc.assert(
    fc.property(fields, fc.integer({ min: 0, max: 9 }), (given, at) => {
      const into = new Uint8Array(recordBytes + 9).fill(0xaa)
      writeRecord(into, at, given)
      assert.deepEqual(into.slice(at, at + recordBytes), expected(given))
      assert.ok(into.every((byte, i) => (i >= at && i < at + recordBytes) || byte === 0xaa))
    }),
  )
})

test("a parsed record encodes to the same bytes: no record has a second encoding", () => {
  const edited = fc.tuple(fields, fc.integer({ min: 0, max: 25 }), fc.integer({ min: 0, max: 255 }))
  let refused = 0
  fc.assert(
    fc.property(edited, ([given, at, byte]) => {
      const record = encodeRecord(given)
      record[at] = byte
      const parsed = parseRecord(record)
      if (parsed) assert.deepEqual(encodeRecord(parsed), record)
      else refused++
    }),
    { numRuns: 1000 },
  )
  assert.ok(refused > 100, `only ${refused} were refused`)
})

test("bytes that are not a record are refused", () => {
  const sample = fc.sample(fields, { numRuns: 1, seed: 1 })[0]
  assert.ok(sample)
  const record = encodeRecord(sample)
  const withByte = (at: number, byte: number) => record.with(at, byte)
  assert.ok(parseRecord(withByte(4, 1)))
  const bad: [string, Uint8Array][] = [
    ["too short", record.slice(0, -1)],
    ["too long", new Uint8Array([...record, 0])],
    ["empty", new Uint8Array()],
    ["a flag", withByte(5, 1)],
    ["kind 0", withByte(4, 0)],
    ["kind 9", withByte(4, 9)],
    ["kind 255", withByte(4, 255)],
    [
      "index 2^53",
      new Uint8Array([...record.slice(0, 6), 0, 0x20, 0, 0, 0, 0, 0, 0, ...record.slice(14)]),
    ],
    [
      "index 2^53 + 1",
      new Uint8Array([...record.slice(0, 6), 0, 0x20, 0, 0, 0, 0, 0, 1, ...record.slice(14)]),
    ],
    [
      "time 2^64 - 1",
      new Uint8Array([...record.slice(0, 14), ...Array<number>(8).fill(255), ...record.slice(22)]),
    ],
  ]
  for (let at = 0; at < 4; at++) bad.push([`magic ${at}`, withByte(at, (record[at] ?? 0) ^ 0x20)])
  for (const [what, bytes] of bad) assert.equal(parseRecord(bytes), undefined, what)
})

test("the hashes of a parsed record are copies", () => {
  const sample = fc.sample(fields, { numRuns: 1, seed: 2 })[0]
  assert.ok(sample)
  // A Buffer, because its slice would be a view.
  const record = Buffer.from(encodeRecord(sample))
  const parsed = parseRecord(record)
  record.fill(0)
  assert.deepEqual(parsed, sample)
})

test("impossible fields fail an assertion", () => {
  const sample = fc.sample(fields, { numRuns: 1, seed: 3 })[0]
  assert.ok(sample)
  for (const index of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
    assert.throws(() => encodeRecord({ ...sample, index }), AssertionError)
    assert.throws(() => encodeRecord({ ...sample, timeMs: index }), AssertionError)
  }
  for (const name of ["ledgerId", "previousHash", "bodyHash"]) {
    assert.throws(() => encodeRecord({ ...sample, [name]: new Uint8Array(31) }), AssertionError)
  }
  assert.throws(() => writeRecord(new Uint8Array(recordBytes), 1, sample), AssertionError)
  assert.throws(() => writeRecord(new Uint8Array(recordBytes + 5), -1, sample), AssertionError)
  assert.throws(() => eventHash(new Uint8Array(64)), AssertionError)
})

test("every kind has one code", () => {
  assert.equal(new Set(Object.values(kinds)).size, 8)
  for (const [name, code] of Object.entries(kinds)) assert.equal(kindOf(code), name)
  assert.equal(kindOf(0), undefined)
})
