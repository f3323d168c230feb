// Reads entries that follow each other, 64 as one row: a row for each, with its values as objects,
// costs four times as much. The values of an entry are cut out of it when they are asked for.

import type { DatabaseSync } from "node:sqlite"
import { recordBytes } from "@tallystick/proof"
import type { Stored } from "../entries.ts"
import { atMost } from "./database.ts"
import type { FramedBodies, FrameReads } from "./stretch-reads.ts"
import { disclosuresOf, idemBytes, idemOf, receiptBytes, receiptOf } from "./packed-text.ts"

/** Entries of a workspace, in order. */
export interface Rows {
  readonly workspace: string
  /** Which stands in the rows of the workspace. */
  readonly number: number
  /** Both are left out. */
  readonly after: number
  readonly before: number
  readonly limit: number
}

type Row = Readonly<Record<string, unknown>>

export const storedColumns = "sequence, record, receipt, idem, salted, sealed FROM entries"
const following = `SELECT ${storedColumns} WHERE workspace = ? AND sequence > ? AND sequence < ? ORDER BY sequence ${atMost}`

/** The fastest of 32, 64 and 128. Of the largest entries it is 16 MiB. */
export const entriesPerRow = 64
const saltBytes = 16

/** Reads entries that have rows: no more at once than `entriesPerRow`. */
export function rowReads(journal: DatabaseSync, frames: FrameReads): (rows: Rows) => Stored[] {
  const oneByOne = journal.prepare(following)
  const joined = journal.prepare(joinedSql)
  joined.setReturnArrays(true)
  return ({ workspace, number, after, before, limit }) => {
    // As the statement selects them, when it gives a list.
    const columns = joined.get(number, after, before, limit) as unknown as JoinedColumns
    const [count, others] = columns
    if (count === 0) return []
    return others === 0
      ? split(workspace, columns, frames(number))
      : oneByOne
          .all(number, after, before, limit)
          .map((row) => storedOf(workspace, row, frames(number)))
  }
}

// What has another type or length than the writer gives it, such as a text of an older version, is
// one of the `others`, which are read one by one.
const joinedSql = `
  SELECT count(*),
    total(typeof(record) <> 'blob' OR length(record) <> ${recordBytes}
      OR typeof(receipt) <> 'blob' OR length(receipt) <> ${receiptBytes}
      OR typeof(idem) NOT IN ('blob', 'null') OR length(idem) <> ${idemBytes}
      OR typeof(salted) NOT IN ('blob', 'null') OR typeof(sealed) NOT IN ('blob', 'null')),
    '[' || group_concat(sequence || ',' || (idem IS NOT NULL) || ',' || ifnull(length(salted), 0) || ','
      || ifnull(length(sealed), 0)) || ']',
    CAST(group_concat(record, '') AS BLOB), CAST(group_concat(receipt, '') AS BLOB),
    CAST(group_concat(ifnull(idem, zeroblob(${idemBytes})), '') AS BLOB),
    CAST(group_concat(salted, '') AS BLOB), CAST(group_concat(sealed, '') AS BLOB)
  FROM (${following})`

/** The values of each column end to end. */
type JoinedColumns = readonly [
  count: number,
  others: number,
  /** Of each entry its sequence, whether it has a key, and the lengths of `salted` and `sealed`. */
  numbers: string,
  records: Uint8Array,
  receipts: Uint8Array,
  idems: Uint8Array,
  salted: Uint8Array | null,
  sealed: Uint8Array | null,
]
const numbersOfEach = 4

function split(workspace: string, columns: JoinedColumns, framed: FramedBodies): Stored[] {
  // The statement joins integers.
  const numbers = JSON.parse(columns[2]) as number[]
  const entries: Stored[] = []
  let [saltedEnd, sealedEnd] = [0, 0]
  for (let at = 0; at < numbers.length; at += numbersOfEach) {
    const [sequence = 0, hasKey = 0] = [numbers[at], numbers[at + 1]]
    const [saltedAt, sealedAt] = [saltedEnd, sealedEnd]
    saltedEnd += numbers[at + 2] ?? 0
    sealedEnd += numbers[at + 3] ?? 0
    const spans = { place: at / numbersOfEach, hasKey, saltedAt, saltedEnd, sealedAt, sealedEnd }
    const record = partOf(columns[3], spans.place, recordBytes)
    const packed = saltedAt < saltedEnd ? undefined : framed(sequence, record)
    entries.push(new JoinedEntry(workspace, sequence, columns, spans, packed))
  }
  return entries
}

/** Where the values of an entry stand in the columns. */
interface Spans {
  readonly place: number
  readonly hasKey: number
  readonly saltedAt: number
  readonly saltedEnd: number
  readonly sealedAt: number
  readonly sealedEnd: number
}

/** Its values cannot be spread, nor sent to another thread: see `plainOf`. */
class JoinedEntry implements Stored {
  readonly workspace: string
  readonly sequence: number
  readonly #columns: JoinedColumns
  readonly #spans: Spans
  readonly #packed: Uint8Array | undefined

  constructor(
    workspace: string,
    sequence: number,
    columns: JoinedColumns,
    spans: Spans,
    packed: Uint8Array | undefined,
  ) {
    this.workspace = workspace
    this.sequence = sequence
    this.#columns = columns
    this.#spans = spans
    this.#packed = packed
  }

  get record(): Uint8Array {
    return this.#part(this.#columns[3], recordBytes)
  }

  get receipt(): string {
    return receiptOf(this.#part(this.#columns[4], receiptBytes))
  }

  get idem(): string | undefined {
    return this.#spans.hasKey === 1 ? idemOf(this.#part(this.#columns[5], idemBytes)) : undefined
  }

  get bodySalt(): Uint8Array | undefined {
    return this.#salted?.subarray(0, saltBytes)
  }

  get body(): Uint8Array | undefined {
    return this.#salted?.subarray(saltBytes)
  }

  get disclosures(): string {
    return disclosuresOf(this.packedDisclosures ?? "")
  }

  get packedDisclosures(): Uint8Array | undefined {
    const { sealedAt, sealedEnd } = this.#spans
    return sealedAt < sealedEnd ? this.#columns[7]?.subarray(sealedAt, sealedEnd) : undefined
  }

  get #salted(): Uint8Array | undefined {
    const { saltedAt, saltedEnd } = this.#spans
    return saltedAt < saltedEnd ? this.#columns[6]?.subarray(saltedAt, saltedEnd) : this.#packed
  }

  #part(column: Uint8Array, length: number): Uint8Array {
    return partOf(column, this.#spans.place, length)
  }
}

function partOf(column: Uint8Array, place: number, length: number): Uint8Array {
  return column.subarray(place * length, (place + 1) * length)
}

/** The entry with all its values made. */
export function plainOf(entry: Stored): Stored {
  const { workspace, sequence, record, receipt, idem, bodySalt, body, disclosures } = entry
  return { workspace, sequence, record, receipt, idem, bodySalt, body, disclosures }
}

export function storedOf(workspace: string, row: Row, framed: FramedBodies): Stored {
  const [sequence, record] = [Number(row["sequence"]), bytes(row["record"])]
  const salted = row["salted"] === null ? framed(sequence, record) : bytes(row["salted"])
  return {
    workspace,
    sequence,
    record,
    receipt: receiptOf(row["receipt"]),
    idem: idemOf(row["idem"]),
    bodySalt: salted?.subarray(0, saltBytes),
    body: salted?.subarray(saltBytes),
    disclosures: disclosuresOf(row["sealed"]),
  }
}

export function bytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new Error("a column that holds bytes holds something else")
  return value
}
