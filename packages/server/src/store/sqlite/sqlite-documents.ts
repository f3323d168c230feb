// Writes the documents anew, in place. SQLite overwrites what is replaced, but not what it has
// moved: a copy of that may stay in the free part of a page, and a copy of the file takes it along.

import type { DatabaseSync } from "node:sqlite"
import { within } from "./database.ts"

/** On the disk, and nothing of before in the log beside it, when it returns. */
export function rewriteDocuments(journal: DatabaseSync): void {
  journal.exec("CREATE TEMP TABLE kept AS SELECT * FROM documents;")
  // All pages of the table come free, and are overwritten as they do.
  within(journal, () =>
    journal.exec(
      "DELETE FROM documents; INSERT INTO documents SELECT * FROM kept ORDER BY serial;",
    ),
  )
  journal.exec("DROP TABLE kept; PRAGMA wal_checkpoint(TRUNCATE);")
}
