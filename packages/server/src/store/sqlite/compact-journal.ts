// Returns free space in the journal's file to the disk: copies all rows into a new file in the same
// folder, some at a time, compares each with the original, and replaces the original. The original
// is not changed before that. The process may be killed at any moment: the next one continues after
// the last copied row, unless the original was changed meanwhile.

import { strict as assert } from "node:assert"
import { existsSync, renameSync, statSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { StartError } from "../../error.ts"
import { syncPath } from "../../runtime/durable-file.ts"
import {
  atMost,
  errorCode,
  formerLayout,
  full,
  isDamage,
  layoutOf,
  openFile,
  openForWriting,
  requireLedger,
  within,
} from "./database.ts"
import {
  copyMark,
  copySmallTables,
  countRows,
  leaveLog,
  requireRoom,
  smallTables,
} from "./journal-copy.ts"
import { upgradeJournal } from "./journal-upgrade.ts"
import { lockForChange } from "./lock.ts"
import { removeDatabase } from "./search-file.ts"

interface Compacted {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** Reports how many of the rows were copied. */
type CompactProgress = (done: number, rows: number) => void

/** The large tables. Their key is their first column. */
const tables = ["entries", "places", "stretches", "disclosures", "frames"] as const
const keys = {
  entries: "n",
  places: "n",
  stretches: "number",
  disclosures: "number",
  frames: "number",
} as const
const rowsPerStep = 2000

const copyIn = (folder: string): string => join(folder, "journal.db.compact")

/**
 * Removes the copy of a killed compaction. A program that opens the journal for writing changes it,
 * so no compaction can go on, and content that is destroyed from now on would stay in the copy.
 */
export function removeCompactCopy(folder: string): void {
  removeDatabase(copyIn(folder))
}

/** No service may use the folder. */
export function compactJournal(
  folder: string,
  progress: CompactProgress,
  step = rowsPerStep,
): Compacted {
  requireLedger(folder)
  using _lock = lockForChange(folder)
  const [path, next] = [join(folder, "journal.db"), copyIn(folder)]
  if (!isBegunOf(path, next)) {
    upgradeJournal(folder)
    leaveLog(path, "run this again")
    begin(path, next)
  }
  const bytesBefore = statSync(path).size
  requireRoom(folder, next, usedBytes(path), "the compacted journal needs")
  copyAll(path, next, progress, step)
  renameSync(next, path)
  syncPath(folder)
  return { bytesBefore, bytesAfter: statSync(path).size }
}

/** Free pages are not copied. */
function usedBytes(path: string): number {
  using journal = openFile(path, { readOnly: true })
  const value = (name: string): number =>
    Number(Object.values(journal.prepare(`PRAGMA ${name}`).get() ?? {})[0])
  return (value("page_count") - value("freelist_count")) * value("page_size")
}

function copyAll(path: string, next: string, progress: CompactProgress, step: number): void {
  try {
    using copy = openCopy(path, next)
    const count = (schema: string): number =>
      tables.reduce((sum, table) => sum + countRows(copy, `${schema}.${table}`), 0)
    const rows = count("former")
    let done = count("main")
    progress(done, rows)
    for (const table of tables)
      for (let copied = 1; copied > 0;) {
        copied = copySome(copy, table, step)
        done += copied
        if (copied > 0) progress(done, rows)
      }
    finish(copy)
  } catch (cause) {
    if (errorCode(cause) !== full) throw cause
    throw new StartError(
      "the disk was full before the journal was compacted; free some space, and run this again: it continues from there",
      { cause },
    )
  }
  syncPath(next)
}

/**
 * Whether there is an incomplete copy of this file in its present state. Writing to the file
 * changes its time.
 */
function isBegunOf(path: string, next: string): boolean {
  if (!existsSync(next) || existsSync(`${path}-wal`)) return false
  // The journal must be upgraded first.
  if (layoutOf(path) === formerLayout) return false
  try {
    using copy = openForWriting(next, "journal", "normal")
    const found = copy.prepare("SELECT stamp FROM copied_from").get()
    return found?.["stamp"] === stampOf(path)
  } catch (error) {
    // The copy was interrupted before its stamp was written, or is damaged.
    if (errorCode(error) === 0 && !isDamage(error)) throw error
    return false
  }
}

function begin(path: string, next: string): void {
  removeDatabase(next)
  using copy = openForWriting(next, "journal", "normal")
  within(copy, () => {
    copy.exec("CREATE TABLE copied_from (stamp TEXT)")
    copy.prepare("INSERT INTO copied_from VALUES (?)").run(stampOf(path))
  })
}

function stampOf(path: string): string {
  const { size, mtimeNs } = statSync(path, { bigint: true })
  return `${size} ${mtimeNs}`
}

function openCopy(path: string, next: string): DatabaseSync {
  const copy = openForWriting(next, "journal", "normal")
  copy.prepare("ATTACH ? AS former").run(path)
  return copy
}

/** Copies the next rows, and compares them with the original. */
function copySome(copy: DatabaseSync, table: (typeof tables)[number], step: number): number {
  const key = keys[table]
  const last = copy.prepare(`SELECT max(${key}) AS last FROM main.${table}`).get()?.["last"]
  const after = Number(last ?? Number.MIN_SAFE_INTEGER)
  return within(copy, () => {
    const { changes } = copy
      .prepare(
        `INSERT INTO main.${table} SELECT * FROM former.${table} WHERE ${key} > ? ORDER BY ${key} ${atMost}`,
      )
      .run(after, step)
    const unlike = copy
      .prepare(
        `SELECT count(*) AS count FROM (SELECT * FROM main.${table} WHERE ${key} > ?1
           EXCEPT SELECT * FROM (SELECT * FROM former.${table} WHERE ${key} > ?1 ORDER BY ${key} LIMIT +?2))`,
      )
      .get(after, step)
    assert.equal(unlike?.["count"], 0, "the copy has the rows of the original")
    return Number(changes)
  })
}

function finish(copy: DatabaseSync): void {
  within(copy, () => {
    copySmallTables(copy)
    for (const table of [...tables, ...smallTables])
      assert.equal(
        countRows(copy, `main.${table}`),
        countRows(copy, `former.${table}`),
        `the copy has all rows of ${table}`,
      )
    copy.exec("DROP TABLE copied_from")
  })
  copyMark(copy)
  copy.exec("DETACH former")
  copy.exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE;")
}
