// Returns free space in the journal's file to the disk: a copy has none.

import { join } from "node:path"
import { atMost, openFile, requireLedger } from "./database.ts"
import { copyJournal, type Copied, type CopyProgress, type JournalCopy } from "./journal-copy.ts"
import { upgradeJournal } from "./journal-upgrade.ts"
import { lockForChange } from "./lock.ts"
import { removeDatabase } from "./search-file.ts"

/** The large tables, with their keys. */
const tables = [
  ["entries", "n"],
  ["places", "n"],
  ["stretches", "number"],
  ["disclosures", "number"],
  ["frames", "number"],
] as const

const compacted: JournalCopy = {
  name: "journal.db.compact",
  tables: tables.map(([name, key]) => ({
    name,
    key,
    copy: `INSERT INTO main.${name} SELECT * FROM former.${name} WHERE ${key} > ? ORDER BY ${key} ${atMost}`,
    same: `SELECT count(*) AS count FROM (SELECT * FROM main.${name} WHERE ${key} > ?1 INTERSECT
      SELECT * FROM (SELECT * FROM former.${name} WHERE ${key} > ?1 ORDER BY ${key} LIMIT +?2))`,
  })),
  bytes: usedBytes,
  migrates: true,
  words: {
    needs: "the compacted journal needs",
    again: "run this again",
    done: "the journal was compacted",
  },
}

/**
 * Removes the copy of a killed compaction. A program that opens the journal for writing changes it,
 * so no compaction can go on, and content that is destroyed from now on would stay in the copy.
 */
export function removeCompactCopy(folder: string): void {
  removeDatabase(join(folder, compacted.name))
}

/** No service may use the folder. */
export function compactJournal(folder: string, progress: CopyProgress, step?: number): Copied {
  requireLedger(folder)
  using _lock = lockForChange(folder)
  upgradeJournal(folder)
  return copyJournal(folder, compacted, progress, step)
}

/** Free pages are not copied. */
function usedBytes(path: string): number {
  using journal = openFile(path, { readOnly: true })
  const value = (name: string): number =>
    Number(Object.values(journal.prepare(`PRAGMA ${name}`).get() ?? {})[0])
  return (value("page_count") - value("freelist_count")) * value("page_size")
}
