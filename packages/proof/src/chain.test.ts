import assert from "node:assert/strict"
import test from "node:test"
import { createChain, placeFault, type Chain } from "./chain.ts"
import { encodeRecord, eventHash, parseRecord, type RecordFields } from "./record.ts"

const ledgerId = new Uint8Array(32).fill(7)
const other = new Uint8Array(32).fill(9)

/** A record for the next place of a chain, with some fields changed. */
function recordFor(chain: Chain, changes: Partial<RecordFields> = {}): Uint8Array {
  const { index, previousHash } = chain
  return encodeRecord({
    kind: "event",
    index,
    timeMs: 1000 + index,
    ledgerId,
    previousHash,
    bodyHash: other,
    ...changes,
  })
}

function chainOf(count: number): {
  readonly chain: Chain
  readonly records: readonly Uint8Array[]
} {
  const chain = createChain(ledgerId)
  const records = Array.from({ length: count }, () => {
    const record = recordFor(chain)
    assert.equal(typeof chain.take(record), "object")
    return record
  })
  return { chain, records }
}

test("a chain accepts only the entry that follows", () => {
  for (const count of [0, 1, 5]) {
    const { chain, records } = chainOf(count)
    const last = records.at(-1)
    assert.equal(chain.index, count)
    assert.deepEqual(chain.previousHash, last === undefined ? ledgerId : eventHash(last))
    const wrong: readonly (readonly [string, Uint8Array])[] = [
      ["record", new Uint8Array(118)],
      ["record", recordFor(chain).subarray(1)],
      ["index", recordFor(chain, { index: count + 1 })],
      ["ledger", recordFor(chain, { ledgerId: other })],
      ["link", recordFor(chain, { previousHash: other })],
      ...(count === 0 ? [] : ([["time", recordFor(chain, { timeMs: 998 + count })]] as const)),
    ]
    for (const [fault, record] of wrong) {
      assert.equal(chain.take(record), fault)
      assert.equal(chain.index, count, "the chain stays as it was")
    }
    assert.deepEqual(
      chain.take(recordFor(chain, { timeMs: 999 + count })),
      parseRecord(recordFor(chainOf(count).chain, { timeMs: 999 + count })),
    )
  }
})

test("a chain continues after the last record, and accepts nothing after a missing one", () => {
  const { chain, records } = chainOf(3)
  const next = recordFor(chain)
  assert.equal(typeof createChain(ledgerId, undefined, 3, records[2]).take(next), "object")
  assert.equal(createChain(ledgerId, undefined, 3, records[1]).take(next), "link")
  assert.equal(
    createChain(ledgerId, undefined, 3, records[2]).take(recordFor(chain, { timeMs: 1001 })),
    "time",
  )
  for (const missing of [undefined, new Uint8Array(), new Uint8Array(118)])
    assert.equal(createChain(ledgerId, undefined, 3, missing).take(next), "link")
})

test("unknown parts of a place are not checked, and a first entry follows its ledger", () => {
  const fields = (changes: Partial<RecordFields>): RecordFields => {
    const parsed = parseRecord(recordFor(createChain(ledgerId), changes))
    assert.ok(parsed)
    return parsed
  }
  assert.equal(placeFault(fields({}), {}), undefined)
  assert.equal(placeFault(fields({ previousHash: other }), {}), "link")
  assert.equal(placeFault(fields({ index: 4, previousHash: other }), {}), undefined)
  assert.equal(placeFault(fields({ index: 4 }), { index: 4, ledgerId: other }), "ledger")
})
