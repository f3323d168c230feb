// All stored documents, for the tools that copy or rewrite them. SQLite overwrites a replaced row.
// But if a row moves, its former bytes may stay in the free part of a page, and in every copy of
// the file.

import type { DatabaseSync } from "node:sqlite"
import { storedDocument } from "../documents.ts"
import type { StoredDocument } from "../offline.ts"
import { atMost, within } from "./database.ts"

/** On return the change is on the disk, and the log has no former content. */
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

const documentsPerRead = 100

export async function* storedDocuments(
  journal: DatabaseSync,
): AsyncGenerator<readonly StoredDocument[]> {
  const following = journal.prepare(
    `SELECT serial, kind, workspace, id, version, created, value FROM documents
     WHERE serial > ? ORDER BY serial ${atMost}`,
  )
  for (let last = 0; ;) {
    const rows = following.all(last, documentsPerRead)
    if (rows.length === 0) return
    yield rows.map(storedDocument)
    last = Number(rows.at(-1)?.["serial"])
  }
}

export async function replaceDocuments(
  journal: DatabaseSync,
  documents: AsyncIterable<readonly StoredDocument[]>,
): Promise<void> {
  const add = journal.prepare(
    `INSERT INTO documents (kind, workspace, id, version, created, value)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  journal.exec("BEGIN IMMEDIATE; DELETE FROM documents;")
  try {
    for await (const page of documents)
      for (const { kind, workspace, id, version, created, value } of page)
        add.run(kind, workspace, id, version, created, value)
    journal.exec("COMMIT")
  } finally {
    if (journal.isTransaction) journal.exec("ROLLBACK")
  }
}
