import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import {
  bucketOf,
  findInBucket,
  makeRun,
  mayHold,
  probe,
  runEntries,
  runOf,
  type KeyRow,
} from "./key-runs.ts"
import { createTail } from "./recent-keys.ts"

const idemOf = (name: string) =>
  createHash("sha256").update(`key ${name}`).digest("base64url").slice(0, 22)
const receiptOf = (name: string) =>
  `rcp_${createHash("sha256").update(`receipt ${name}`).digest("hex").slice(0, 36)}`

function rowsOf(run: number, count: number): KeyRow[] {
  return Array.from({ length: count }, (_, place) => {
    const n = run * runEntries + place + 1
    return { n, idem: place % 5 === 4 ? undefined : idemOf(`${n}`), receipt: receiptOf(`${n}`) }
  })
}

function found(run: number, bucket: string | undefined, key: string): readonly number[] {
  return [...findInBucket(run, bucket ?? "", key)]
}

test("a run finds each of its keys and receipts, and no others", () => {
  const rows = rowsOf(3, 2000)
  const run = makeRun(3, rows)
  for (const { n, idem, receipt } of rows) {
    assert.deepEqual(found(3, run.receipts[bucketOf(receipt)], receipt), [n])
    if (idem !== undefined) assert.deepEqual(found(3, run.keys[bucketOf(idem)], idem), [n])
    if (idem !== undefined)
      assert.ok(mayHold(run.filter, probe(idem)), "a filter never forgets a key")
    const other = idemOf(`other ${n}`)
    assert.deepEqual(found(3, run.keys[bucketOf(other)], other), [])
  }
  const receipts = rows.map(({ receipt }) => receipt).toSorted()
  assert.deepEqual([run.lowestReceipt, run.highestReceipt], [receipts[0], receipts.at(-1)])
})

test("a key is not found across the border of two pieces", () => {
  // The place of the first, and the beginning of the second, look like the third.
  const bucket = `${"a".repeat(8)}bb0001${"c".repeat(10)}0002`
  const across = bucket.slice(8, 18)
  assert.ok(bucket.includes(across))
  assert.deepEqual(found(0, bucket, across), [])
  assert.deepEqual(found(0, `${bucket}${across}0003`, `a key that ends with ${across}`), [4])
})

test("keys with the same end are all found", () => {
  const keys = ["one-that-ends-alike", "two-that-ends-alike"]
  const rows = keys.map((idem, place) => ({ n: place + 1, idem, receipt: receiptOf(idem) }))
  const run = makeRun(0, rows)
  for (const key of keys) assert.deepEqual(found(0, run.keys[bucketOf(key)], key), [1, 2])
})

test("the filter of a full run has no more false positives than documented", () => {
  const run = makeRun(
    0,
    rowsOf(0, runEntries).map((row) => ({ ...row, idem: idemOf(`${row.n}`) })),
  )
  let passed = 0
  for (let count = 0; count < 50_000; count++)
    if (mayHold(run.filter, probe(idemOf(`other ${count}`)))) passed++
  assert.ok(passed < 60, `6 of 10,000 are promised; ${passed} of 50,000 passed`)
})

test("a run takes its own entries only", () => {
  assert.throws(() => makeRun(1, rowsOf(0, 1)), /its own run/)
  assert.deepEqual([runOf(1), runOf(runEntries), runOf(runEntries + 1)], [0, 0, 1])
})

test("the tail has the entries after the last settled run, and reports a run once it is complete", () => {
  const tail = createTail()
  const add = (n: number) =>
    tail.add({
      n,
      workspace: n % 2 === 0 ? "even" : "odd",
      sequence: Math.ceil(n / 2),
      receipt: receiptOf(`${n}`),
      idem: idemOf(`${n}`),
    })
  assert.deepEqual([tail.lastN(), tail.settledN(), tail.due()], [0, 0, undefined])
  for (const n of [1, 2, runEntries]) add(n)
  // The workspace of this one is lost.
  tail.add({ n: 3, workspace: "", sequence: 1, receipt: "", idem: idemOf("1") })
  assert.equal(tail.due(), undefined)
  add(runEntries + 1)
  assert.equal(tail.due(), 0)
  assert.deepEqual(tail.find("odd", idemOf("1")), { sequence: 1 })
  assert.deepEqual(tail.find("even", idemOf("1")), { runs: [] }, "a key is its workspace's")
  assert.equal(tail.byReceipt("even", receiptOf("2")), 1)
  assert.equal(tail.byReceipt("odd", receiptOf("2")), undefined)
  const { filter } = makeRun(0, [{ n: 1, idem: idemOf("1"), receipt: receiptOf("1") }])
  tail.settle(0, filter)
  assert.deepEqual(
    [tail.due(), tail.settledN(), tail.lastN()],
    [undefined, runEntries, runEntries + 1],
  )
  assert.deepEqual(tail.find("odd", idemOf("1")), { runs: [0] }, "the index is to be asked")
  assert.deepEqual(tail.find("odd", idemOf("2")), { runs: [] }, "the filter says that it is new")
  assert.deepEqual(tail.find("odd", idemOf(`${runEntries + 1}`)), { sequence: runEntries / 2 + 1 })
  assert.throws(() => tail.settle(0, filter), /in their order/)
})

test("a tail with only settled runs continues after them", () => {
  const tail = createTail()
  for (const run of [0, 1]) tail.settle(run, makeRun(run, []).filter)
  assert.deepEqual([tail.lastN(), tail.due()], [2 * runEntries, undefined])
})
