// What upgrading and compacting share: both copy the journal into a new file in the same folder,
// and the copy has the original attached as `former`.

import { statSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { StartError } from "../../error.ts"
import { busy, errorCode, freeBytes, openForWriting } from "./database.ts"

/** These are small, and are copied as a whole. */
export const smallTables = ["workspaces", "documents", "sqlite_sequence"] as const

export function copySmallTables(copy: DatabaseSync): void {
  for (const table of smallTables)
    copy.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM former.${table};`)
}

/** The mark of a backup copy (copy.ts). */
export function copyMark(copy: DatabaseSync): void {
  const { application_id: mark } = copy.prepare("PRAGMA former.application_id").get() ?? {}
  copy.exec(`PRAGMA main.application_id = ${Number(mark)}`)
}

export function countRows(database: DatabaseSync, table: string): number {
  return Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"])
}

/**
 * Throws unless the folder has room for the rest of the copy. `needs` begins the sentence, up to
 * the number.
 */
export function requireRoom(folder: string, next: string, needed: number, needs: string): void {
  const has = statSync(next, { throwIfNoEntry: false })?.size ?? 0
  const free = freeBytes(folder)
  if (free + has >= needed) return
  const mebibytes = (bytes: number): number => Math.ceil(bytes / 2 ** 20)
  throw new StartError(
    `${needs} ${mebibytes(needed - has)} MiB of free space in ${folder}; ${mebibytes(free)} MiB are free. The journal is unchanged`,
  )
}

/**
 * Moves the log into the file: a log file that remained would be taken for the new file's. `again`
 * says what to do when no other program reads the file. `migrates` is that of `openForWriting`.
 */
export function leaveLog(path: string, again: string, migrates = true): void {
  using journal = openForWriting(path, "journal", "full", migrates)
  try {
    journal.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE;")
  } catch (cause) {
    if (errorCode(cause) !== busy) throw cause
    throw new StartError(
      `${path} is being read by another program, such as a backup; ${again} when it has ended`,
      { cause },
    )
  }
}
