// Overwrites the copies that SQLite leaves of rows that it has moved. `secure_delete` overwrites a
// row that is deleted or replaced. But a row that moves to another page leaves its bytes in the
// unused part of the former one, where no later change of the row reaches them.
//
// So a row of that page grows until the page is full, and becomes what it was: then SQLite overwrites
// all of that part.

import { assert } from "@tallystick/proof"
import { closeSync, openSync, readSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { emptyLog, pragma, within } from "./database.ts"

/** A table of content that may be destroyed, with a value of a row that may be longer for a moment. */
interface Table {
  readonly name: string
  readonly read: string
  readonly write: string
}

const part = (name: string, columns: string): Table => ({
  name,
  read: `SELECT bytes AS value FROM ${name} WHERE rowid = ?`,
  // To replace a row in place is no UPDATE, which a trigger forbids.
  write: `INSERT OR REPLACE INTO ${name} (rowid, ${columns}, bytes)
    SELECT rowid, ${columns}, ?2 FROM ${name} WHERE rowid = ?1`,
})

const value = (name: string, column: string): Table => ({
  name,
  read: `SELECT ${column} AS value FROM ${name} WHERE rowid = ?`,
  write: `UPDATE ${name} SET ${column} = ?2 WHERE rowid = ?1`,
})

export const movedInJournal: readonly Table[] = [
  value("entries", "sealed"),
  value("documents", "value"),
  part("disclosures", "workspace, first, part, count"),
  part("frames", "workspace, first, part, count"),
]
export const movedInSearch: readonly Table[] = [part("parts", "workspace, level, k, part")]

interface Page {
  readonly name: string
  /** Of its shortest row. */
  readonly key: number
  /** The bytes by which that row can grow. */
  readonly room: number
}

/** A transaction takes about two milliseconds. */
const pagesAtOnce = 8
const transactionsAtOnce = 8
/** A row that was appended since may make a page overflow, which moves rows again. */
const roundsMax = 4

/** Overwrites some of the copies and returns false, or true if there are none. */
export function overwritingCopies(database: DatabaseSync, tables: readonly Table[]): () => boolean {
  const rows = new Map(
    tables.map(({ name, read, write }) => [
      name,
      { read: database.prepare(read), write: database.prepare(write) },
    ]),
  )
  const overwrite = ({ name, key, room }: Page): void => {
    const row = rows.get(name)
    assert(row !== undefined, "the page is of one of the tables")
    const value = row.read.get(key)?.["value"]
    if (value === undefined) return
    row.write.run(key, longer(value, room))
    row.write.run(key, value)
  }
  let found: Page[] = []
  let rounds = 0
  return () => {
    // Pages are read from the file.
    if (!emptyLog(database, 0)) return false
    if (found.length === 0 && rounds < roundsMax) {
      found = pagesWithCopies(database, tables)
      rounds += 1
    }
    if (found.length === 0) {
      rounds = 0
      return true
    }
    for (let done = 0; done < transactionsAtOnce && found.length > 0; done++)
      within(database, () => found.splice(-pagesAtOnce).forEach(overwrite))
    return false
  }
}

type Value = null | number | bigint | string | NodeJS.NonSharedUint8Array

/** Of the same type where the column has only one. */
function longer(value: Value, bytes: number): string | Uint8Array {
  if (typeof value === "string") return " ".repeat(Buffer.byteLength(value) + bytes)
  return new Uint8Array((value instanceof Uint8Array ? value.length : 0) + bytes)
}

function pagesWithCopies(database: DatabaseSync, tables: readonly Table[]): Page[] {
  const path = database.location()
  assert(path !== null, "the database is a file")
  const file = openSync(path, "r")
  const page = Buffer.alloc(Number(pragma(database, "page_size")))
  const leaves = database.prepare(
    "SELECT pageno, unused FROM dbstat WHERE name = ? AND pagetype = 'leaf'",
  )
  try {
    return tables.flatMap(({ name }) => {
      const found: Page[] = []
      for (const { pageno, unused } of leaves.iterate(name)) {
        readSync(file, page, 0, page.length, (Number(pageno) - 1) * page.length)
        const row = hasCopies(page) ? shortestRow(page) : undefined
        if (row === undefined) continue
        const room = Math.min(Number(unused), page.length - reserved - row.bytes) - slack
        if (room > 0) found.push({ name, key: row.key, room })
      }
      return found
    })
  } finally {
    closeSync(file)
  }
}

// https://www.sqlite.org/fileformat.html, "B-tree Pages". A leaf of a table has 8 bytes of header and
// two for the place of each cell. Cells stand at the end of the page.
const header = 8
const leafOfTable = 13
/** A longer row is continued on other pages. */
const reserved = 35
/** The lengths that a row begins with take more bytes if it is longer. */
const slack = 8

/** A row that has a page to itself leaves up to so much. */
const ignored = 32

function hasCopies(page: Buffer): boolean {
  const [from, to] = [header + 2 * page.readUInt16BE(3) + ignored, page.readUInt16BE(5)]
  return (
    page[0] === leafOfTable &&
    from < to &&
    !page.subarray(from, to).equals(zeros.subarray(from, to))
  )
}

const zeros = Buffer.alloc(2 ** 16)

function shortestRow(page: Buffer): { readonly key: number; readonly bytes: number } | undefined {
  let shortest: { readonly key: number; readonly bytes: number } | undefined
  for (let cell = 0; cell < page.readUInt16BE(3); cell++) {
    const [bytes, next] = variable(page, page.readUInt16BE(header + 2 * cell))
    if (bytes < (shortest?.bytes ?? Infinity)) shortest = { bytes, key: variable(page, next)[0] }
  }
  return shortest
}

/** A number of variable length, and the place after it. */
function variable(page: Buffer, from: number): readonly [value: number, next: number] {
  let value = 0
  for (let at = from; ; at++) {
    const byte = page[at] ?? 0
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, at + 1]
  }
}
