import assert from "node:assert/strict"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { repeatedValues } from "./repeated-values.ts"
import { packStretch } from "./stretch-format.ts"

type Name = Uint8Array | string | null
type Names = readonly [receipt: Name, idem: Name]

/** Those of a stretch, and of rows behind it, of one workspace. */
function journalOf(packed: readonly Names[], rows: readonly Names[]): DatabaseSync {
  const journal = new DatabaseSync(":memory:")
  journal.exec(
    `CREATE TABLE entries (workspace INTEGER, sequence INTEGER, receipt ANY, idem ANY);
     CREATE TABLE stretches (number INTEGER PRIMARY KEY, workspace INTEGER, first INTEGER, part INTEGER, count INTEGER, bytes BLOB);`,
  )
  const row = journal.prepare("INSERT INTO entries VALUES (1, ?, ?, ?)")
  for (const [at, names] of rows.entries()) row.run(packed.length + at + 1, ...names)
  const entries = packed.map(([receipt, idem]) => ({ record: Buffer.alloc(118), receipt, idem }))
  journal
    .prepare("INSERT INTO stretches VALUES (1, 1, 1, 0, ?, ?)")
    .run(entries.length, packStretch(entries))
  return journal
}

/** As the service makes them. */
function nameOf(at: number): Names {
  const receipt = Buffer.alloc(23, "r")
  receipt.writeUInt32BE(at, 15)
  const idem = Buffer.alloc(16, "k")
  idem.writeUInt32BE(at, 10)
  return [receipt, idem]
}

const [packed, rows] = [
  Array.from({ length: 64 }, (_, at) => nameOf(at)),
  Array.from({ length: 100 }, (_, at) => nameOf(64 + at)),
]
const none: Name = null
/** What ends as another one, and is not the same. */
const alike = Buffer.concat([Buffer.from("x"), nameOf(3)[0] as Buffer]).subarray(0, 23)
Buffer.from(nameOf(3)[0] as Buffer).copy(alike, 10, 10)

for (const most of [1000, 20])
  test(`the first name that an earlier entry has is found, ${most} at a time`, () => {
    const cases: readonly (readonly [number | undefined, readonly Names[]])[] = [
      [undefined, rows],
      [undefined, [...rows, [none, none], [none, none]]],
      [undefined, [...rows, [alike, none]]],
      [165, [...rows, [nameOf(3)[0], none]]],
      [165, [...rows, [nameOf(64)[0], none], [nameOf(3)[0], none], [nameOf(64)[0], none]]],
      [166, [...rows, ["short", none], ["short", none]]],
      [
        undefined,
        [...rows, ["a text of some length", none], ["another text of some length", none]],
      ],
    ]
    for (const [expected, given] of cases) {
      const repeated = repeatedValues(journalOf(packed, given), most)
      assert.equal(repeated(1, "receipt"), expected)
      assert.equal(repeated(1, "idem"), undefined)
      assert.equal(repeated(2, "receipt"), undefined)
    }
    const again = repeatedValues(journalOf(packed, [...rows, [none, nameOf(99)[1]]]), most)
    assert.equal(again(1, "idem"), 165)
    assert.equal(again(1, "receipt"), undefined)
  })

test("a name that is a text and would be packed is that of the bytes", () => {
  const [, key] = nameOf(5)
  const text = Buffer.from(key as Buffer).toString("base64url")
  const repeated = repeatedValues(journalOf(packed, [...rows, [none, text]]))
  assert.equal(repeated(1, "idem"), 165)
})
