// Writes all documents again, in place. SQLite overwrites a replaced row, but not the former place
// of a moved one, which may stay in the free part of a page and in every copy of the file.

import type { DatabaseSync } from "node:sqlite"
import { within } from "./database.ts"

/** On return it is on the disk, and the log has no former content. */
export function rewriteDocuments(journal: DatabaseSync): void {
  journal.exec("CREATE TEMP TABLE kept AS SELECT * FROM documents;")
  // All pages of the table become free, and SQLite overwrites free pages.
  within(journal, () =>
    journal.exec(
      "DELETE FROM documents; INSERT INTO documents SELECT * FROM kept ORDER BY serial;",
    ),
  )
  journal.exec("DROP TABLE kept; PRAGMA wal_checkpoint(TRUNCATE);")
}
