// Reads consecutive entries, 64 as one row: a row for each, with its values as objects, costs four
// times as much. The values of an entry are cut out of the row on access.

import type { DatabaseSync } from "node:sqlite"
import { bodySaltBytes, recordBytes } from "@tallystick/proof"
import { bufferOf } from "../../runtime/buffer-of.ts"
import { saltAndBody, type Stored } from "../entries.ts"
import { bytes, atMost } from "./database.ts"
import type { FramedBodies, FrameReads } from "./stretch-reads.ts"
import { disclosuresOf, idemBytes, idemOf, receiptBytes, receiptOf } from "./packed-text.ts"

/** Entries of a workspace, in order. */
export interface Rows {
  readonly workspace: string
  /** The number of the workspace in its rows. */
  readonly number: number
  /** Exclusive bounds. */
  readonly after: number
  readonly before: number
  readonly limit: number
}

type Row = Readonly<Record<string, unknown>>

export const storedColumns = "sequence, record, receipt, idem, salted, sealed FROM entries"
const following = `SELECT ${storedColumns} WHERE workspace = ? AND sequence > ? AND sequence < ? ORDER BY sequence ${atMost}`

/** The fastest of 32, 64 and 128. For the largest entries these are 16 MiB. */
export const entriesPerRow = 64

/** Reads entries that have rows, at most `entriesPerRow` at once. */
export function rowReads(journal: DatabaseSync, frames: FrameReads): (rows: Rows) => Stored[] {
  const oneByOne = journal.prepare(following)
  const joined = journal.prepare(joinedSql)
  joined.setReturnArrays(true)
  return ({ workspace, number, after, before, limit }) => {
    // The columns of the statement, in array mode.
    const columns = joined.get(number, after, before, limit) as unknown as JoinedColumns
    const [others, sequences] = columns
    if (sequences === null) return []
    return others === 0
      ? split(workspace, columns, frames(number))
      : oneByOne
          .all(number, after, before, limit)
          .map((row) => storedOf(workspace, row, frames(number)))
  }
}

// Entries with values of another type or length than the writer uses, such as a text of an older
// version, are the `others`, which are read one by one. SQLite sorts numbers and texts below every
// byte string, and a comparison costs less than a call of `typeof`.
const joinedSql = `
  SELECT total((record >= x'') IS NOT TRUE OR length(record) <> ${recordBytes}
      OR (receipt >= x'') IS NOT TRUE OR length(receipt) <> ${receiptBytes}
      OR idem < x'' OR length(idem) <> ${idemBytes} OR salted < x'' OR length(salted) < ${bodySaltBytes} OR sealed < x''),
    group_concat(sequence), group_concat(idem IS NOT NULL),
    group_concat(ifnull(length(salted), 0)), group_concat(ifnull(length(sealed), 0)),
    CAST(group_concat(record, '') AS BLOB), CAST(group_concat(receipt, '') AS BLOB),
    CAST(group_concat(ifnull(idem, zeroblob(${idemBytes})), '') AS BLOB),
    CAST(group_concat(salted, '') AS BLOB), CAST(group_concat(sealed, '') AS BLOB)
  FROM (${following})`

/** The concatenated values of each column. */
type JoinedColumns = readonly [
  others: number,
  /** Null without entries. */
  sequences: string | null,
  haveKeys: string,
  saltedLengths: string,
  sealedLengths: string,
  records: Uint8Array,
  receipts: Uint8Array,
  idems: Uint8Array,
  salted: Uint8Array | null,
  sealed: Uint8Array | null,
]

/** Integers that a statement has joined; null without rows. */
export function integersOf(joined: string | null): readonly number[] {
  return joined === null ? [] : (JSON.parse(`[${joined}]`) as number[])
}

function split(workspace: string, columns: JoinedColumns, framed: FramedBodies): Stored[] {
  const [haveKeys, saltedLengths, sealedLengths] = [columns[2], columns[3], columns[4]].map(
    integersOf,
  )
  const salted = columns[8] === null ? noBytes : bufferOf(columns[8])
  const sealed = columns[9] === null ? noBytes : bufferOf(columns[9])
  let [saltedEnd, sealedEnd] = [0, 0]
  return integersOf(columns[1]).map((sequence, place) => {
    const [saltedAt, sealedAt] = [saltedEnd, sealedEnd]
    saltedEnd += saltedLengths?.[place] ?? 0
    sealedEnd += sealedLengths?.[place] ?? 0
    return new JoinedEntry(
      workspace,
      sequence,
      columns,
      place,
      haveKeys?.[place] === 1,
      saltedAt < saltedEnd
        ? salted.subarray(saltedAt + bodySaltBytes, saltedEnd)
        : framed(sequence, partOf(columns[5], place, recordBytes))?.subarray(bodySaltBytes),
      sealedAt < sealedEnd ? sealed.subarray(sealedAt, sealedEnd) : undefined,
    )
  })
}

const noBytes = Buffer.alloc(0)

/** Its values are getters, so it is not spread, and is sent to another thread by `sentOf`. */
class JoinedEntry implements Stored {
  readonly workspace: string
  readonly sequence: number
  /**
   * Asked for several times by whoever reads entries in order, as are the disclosures. Its salt is
   * before it in its buffer.
   */
  readonly body: Uint8Array | undefined
  readonly packedDisclosures: Uint8Array | undefined
  readonly #columns: JoinedColumns
  readonly #place: number
  readonly #hasKey: boolean

  constructor(
    workspace: string,
    sequence: number,
    columns: JoinedColumns,
    place: number,
    hasKey: boolean,
    body: Uint8Array | undefined,
    packedDisclosures: Uint8Array | undefined,
  ) {
    this.workspace = workspace
    this.sequence = sequence
    this.body = body
    this.packedDisclosures = packedDisclosures
    this.#columns = columns
    this.#place = place
    this.#hasKey = hasKey
  }

  get record(): Uint8Array {
    return partOf(this.#columns[5], this.#place, recordBytes)
  }

  get receipt(): string {
    return receiptOf(partOf(this.#columns[6], this.#place, receiptBytes))
  }

  get idem(): string | undefined {
    return this.#hasKey ? idemOf(partOf(this.#columns[7], this.#place, idemBytes)) : undefined
  }

  get bodySalt(): Uint8Array | undefined {
    const { body } = this
    return body && new Uint8Array(body.buffer, body.byteOffset - bodySaltBytes, bodySaltBytes)
  }

  get disclosures(): string {
    return disclosuresOf(this.packedDisclosures ?? "")
  }
}

function partOf(column: Uint8Array, place: number, length: number): Uint8Array {
  return column.subarray(place * length, (place + 1) * length)
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
    ...saltAndBody(salted),
    disclosures: disclosuresOf(row["sealed"]),
  }
}
