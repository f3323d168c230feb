import assert from "node:assert/strict"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { rowReads, storedOf } from "./joined-entries.ts"

type Value = Uint8Array | string | null

interface Values {
  readonly record: Value
  readonly receipt: Value
  readonly idem: Value
  readonly salted: Value
  readonly sealed: Value
}

const columns = ["record", "receipt", "idem", "salted", "sealed"] as const

const usual: Values = {
  record: Buffer.alloc(118, 1),
  receipt: Buffer.alloc(23, 2),
  idem: Buffer.alloc(16, 3),
  salted: Buffer.concat([Buffer.alloc(16, 4), Buffer.from("{}")]),
  sealed: Buffer.from('["salt","name",1]'),
}

function journalOf(rows: readonly Values[]): DatabaseSync {
  const journal = new DatabaseSync(":memory:")
  journal.exec(
    "CREATE TABLE entries (workspace INTEGER, sequence INTEGER, record ANY, receipt ANY, idem ANY, salted ANY, sealed ANY) STRICT",
  )
  const row = journal.prepare("INSERT INTO entries VALUES (1, ?, ?, ?, ?, ?, ?)")
  for (const [at, values] of rows.entries())
    row.run(at + 1, ...columns.map((column) => values[column]))
  return journal
}

const framed = Buffer.concat([Buffer.alloc(16, 5), Buffer.from('{"of":"a frame"}')])

function read(journal: DatabaseSync): unknown[] {
  const rows = { workspace: "acme", number: 1, after: 0, before: 100, limit: 64 }
  return rowReads(journal, () => () => framed)(rows).map(shown)
}

/** What readers use. */
function shown(entry: ReturnType<typeof storedOf>): unknown {
  const { sequence, record, receipt, idem, body, bodySalt, disclosures } = entry
  const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex")
  return [sequence, hex(record), receipt, idem, hex(body), hex(bodySalt), disclosures]
}

/** The same, each row alone. */
function expectedOf(journal: DatabaseSync): unknown[] {
  return journal
    .prepare("SELECT * FROM entries ORDER BY sequence")
    .all()
    .map((row) => shown(storedOf("acme", row, () => framed)))
}

const unlike: readonly Partial<Values>[] = [
  { receipt: "a receipt of 23 letters" },
  { receipt: "rcp_of an older version" },
  { receipt: Buffer.alloc(22, 2) },
  { receipt: null },
  { idem: "a key of 16 char" },
  { idem: Buffer.alloc(15, 3) },
  { record: Buffer.alloc(117, 1) },
  { salted: Buffer.alloc(9, 4) },
  { sealed: "WyJzYWx0IiwibmFtZSIsMV0" },
]

test("joined rows give what each row gives alone", () => {
  const rows = [usual, { ...usual, idem: null }, { ...usual, sealed: null }]
  const without = { ...usual, salted: null, idem: null, sealed: null }
  for (const given of [[], rows, [without], [without, without], [...rows, without, ...rows]]) {
    using journal = journalOf(given)
    assert.deepEqual(read(journal), expectedOf(journal))
  }
})

test("one value of another form does not move those of its neighbours", () => {
  for (const odd of unlike) {
    using journal = journalOf([usual, { ...usual, ...odd }, usual])
    assert.deepEqual(read(journal), expectedOf(journal), `of ${JSON.stringify(odd)}`)
  }
})

test("a record that is no bytes is refused", () => {
  for (const record of [null, "r".repeat(118)]) {
    using journal = journalOf([usual, { ...usual, record }, usual])
    assert.throws(() => read(journal), /holds something else/)
  }
})
