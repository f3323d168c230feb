// Copies the journal into a new file in the same folder, some rows at a time, compares each with the
// original, and replaces the original once the copy is complete. The original is not changed before
// that. The process may be killed at any moment: the next one continues after the last copied row,
// unless the original was changed meanwhile.

import { assert } from "@tallystick/proof"
import { existsSync, renameSync, statSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { sqliteCodeOf, StartError } from "../../error.ts"
import { syncPath } from "../../runtime/durable-file.ts"
import { busy, freeBytes, full, isDamage, openForWriting, within } from "./database.ts"
import { removeDatabase } from "./search-file.ts"

/** Reports how many of the rows were copied, before the first step and after each. */
export type CopyProgress = (done: number, rows: number) => void

export interface JournalCopy {
  /** The file of the copy. */
  readonly name: string
  /** In the copy, the original is attached as `former`. */
  readonly tables: readonly CopiedTable[]
  /** What the statements call. */
  readonly functions?: (copy: DatabaseSync) => void
  /** The space that it takes. */
  readonly bytes: (path: string) => number
  /** `migrates` of `openForWriting`. */
  readonly migrates: boolean
  /** Parts of sentences: what needs space, what was done, and what to do to go on. */
  readonly words: { readonly needs: string; readonly done: string; readonly again: string }
}

export interface CopiedTable {
  readonly name: string
  readonly key: string
  /** Copies so many rows after a key. */
  readonly copy: string
  /** Counts the copied rows after the key that are those of the original. */
  readonly same: string
}

export interface Copied {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** These are small, and are copied as a whole. */
const smallTables = ["workspaces", "documents", "sqlite_sequence"] as const
/** At most half a gigabyte of entries. */
const rowsPerStep = 2000

/** The folder must be locked. */
export function copyJournal(
  folder: string,
  how: JournalCopy,
  progress: CopyProgress = () => {},
  step = rowsPerStep,
): Copied {
  const [path, next] = [join(folder, "journal.db"), join(folder, how.name)]
  requireRoom(folder, next, how.bytes(path), how.words.needs)
  if (!isBegunOf(path, next)) {
    leaveLog(path, how)
    begin(path, next)
  }
  const bytesBefore = statSync(path).size
  try {
    copyAll(path, next, how, progress, step)
  } catch (cause) {
    if (sqliteCodeOf(cause) !== full) throw cause
    const { done, again } = how.words
    throw new StartError(
      `the disk of ${folder} was full before ${done}; free some space, and ${again}: it continues from there`,
      { cause },
    )
  }
  syncPath(next)
  renameSync(next, path)
  syncPath(folder)
  return { bytesBefore, bytesAfter: statSync(path).size }
}

/**
 * Whether there is an incomplete copy of this file in its present state. Writing to the file
 * changes its time.
 */
function isBegunOf(path: string, next: string): boolean {
  if (!existsSync(next) || existsSync(`${path}-wal`)) return false
  try {
    using copy = openForWriting(next, "journal", "normal")
    const found = copy.prepare("SELECT stamp FROM copied_from").get()
    return found?.["stamp"] === stampOf(path)
  } catch (error) {
    // The copy was interrupted before its stamp was written, or is damaged.
    if (sqliteCodeOf(error) === 0 && !isDamage(error)) throw error
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

function copyAll(
  path: string,
  next: string,
  { tables, functions }: JournalCopy,
  progress: CopyProgress,
  step: number,
): void {
  using copy = openForWriting(next, "journal", "normal")
  copy.prepare("ATTACH ? AS former").run(path)
  functions?.(copy)
  const all = (schema: string): number =>
    tables.reduce((sum, { name }) => sum + countRows(copy, `${schema}.${name}`), 0)
  const rows = all("former")
  let done = all("main")
  progress(done, rows)
  for (const table of tables)
    for (let copied = 1; copied > 0;) {
      copied = copySome(copy, table, step)
      done += copied
      if (copied > 0) progress(done, rows)
    }
  finish(copy, tables)
}

function copySome(copy: DatabaseSync, { name, key, ...sql }: CopiedTable, step: number): number {
  const last = copy.prepare(`SELECT max(${key}) AS last FROM main.${name}`).get()?.["last"]
  const after = Number(last ?? Number.MIN_SAFE_INTEGER)
  return within(copy, () => {
    const { changes } = copy.prepare(sql.copy).run(after, step)
    const same = copy.prepare(sql.same).get(after, step)?.["count"]
    assert(same === changes, "the copy has the rows of the original")
    return Number(changes)
  })
}

function finish(copy: DatabaseSync, tables: readonly CopiedTable[]): void {
  within(copy, () => {
    for (const name of smallTables)
      copy.exec(`DELETE FROM main.${name}; INSERT INTO main.${name} SELECT * FROM former.${name};`)
    for (const name of [...tables.map((table) => table.name), ...smallTables])
      assert(
        countRows(copy, `main.${name}`) === countRows(copy, `former.${name}`),
        `the copy has all rows of ${name}`,
      )
    copy.exec("DROP TABLE copied_from")
  })
  // The mark of a backup copy (copy.ts).
  const { application_id: mark } = copy.prepare("PRAGMA former.application_id").get() ?? {}
  copy.exec(`PRAGMA main.application_id = ${Number(mark)}; DETACH former;`)
  copy.exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE;")
}

function countRows(database: DatabaseSync, table: string): number {
  return Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"])
}

/** Throws unless the folder has room for the rest of the copy. */
function requireRoom(folder: string, next: string, needed: number, needs: string): void {
  const has = statSync(next, { throwIfNoEntry: false })?.size ?? 0
  const free = freeBytes(folder)
  if (free + has >= needed) return
  const mebibytes = (bytes: number): number => Math.ceil(bytes / 2 ** 20)
  throw new StartError(
    `${needs} ${mebibytes(needed - has)} MiB of free space in ${folder}; ${mebibytes(free)} MiB are free. The journal is unchanged`,
  )
}

/** Moves the log into the file: a log file that remained would be taken for the new file's. */
function leaveLog(path: string, { migrates, words }: JournalCopy): void {
  using journal = openForWriting(path, "journal", "full", migrates)
  try {
    journal.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE;")
  } catch (cause) {
    if (sqliteCodeOf(cause) !== busy) throw cause
    throw new StartError(
      `${path} is being read by another program, such as a backup; ${words.again} when it has ended`,
      { cause },
    )
  }
}
