// Upgrades a journal of the former layout: copies its entries into a new file of this layout.

import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import { atMost, formerLayout, layoutOf, requireKnown, versionOf } from "./database.ts"
import { copyJournal, type CopyProgress, type JournalCopy } from "./journal-copy.ts"
import {
  disclosuresOf,
  idemOf,
  packDisclosures,
  packIdem,
  packReceipt,
  receiptOf,
} from "./packed-text.ts"
import { removeDatabase } from "./search-file.ts"

const entriesWithContent = `former.entries e LEFT JOIN former.bodies b ON b.n = e.n
  LEFT JOIN former.disclosures d ON d.n = e.n`

const upgraded: JournalCopy = {
  name: "journal.db.next",
  tables: [
    {
      name: "entries",
      key: "n",
      copy: `INSERT INTO main.entries (n, workspace, sequence, receipt, idem, record, sealed, salted)
        SELECT e.n, e.workspace, e.sequence, pack_receipt(e.receipt), pack_idem(e.idem), e.record,
               pack_sealed(d.sealed), b.salted
        FROM ${entriesWithContent} WHERE e.n > ? ORDER BY e.n ${atMost}`,
      same: `SELECT count(*) AS count FROM ${entriesWithContent} JOIN main.entries m ON m.n = e.n
        WHERE e.n IN (SELECT n FROM former.entries WHERE n > ?1 ORDER BY n LIMIT +?2)
          AND m.workspace = e.workspace AND m.sequence = e.sequence
          AND receipt_of(m.receipt) = e.receipt AND idem_of(m.idem) IS e.idem AND m.record = e.record
          AND sealed_of(m.sealed) = ifnull(d.sealed, '') AND m.salted IS b.salted`,
    },
  ],
  functions(copy) {
    const bytesOf = (text: SQLOutputValue): Buffer =>
      Buffer.from(typeof text === "string" ? text : "", "latin1")
    copy.function("pack_receipt", (text) => packReceipt(bytesOf(text)))
    copy.function("pack_idem", (text) => packIdem(bytesOf(text)))
    copy.function("pack_sealed", (text) => packDisclosures(bytesOf(text)))
    copy.function("receipt_of", (column) => receiptOf(column))
    copy.function("idem_of", (column) => idemOf(column) ?? null)
    copy.function("sealed_of", (column) => disclosuresOf(column))
  },
  // The log of the new file takes the space of one step, which is not known in advance.
  bytes: (path) => statSync(path).size,
  migrates: false,
  words: {
    needs: "the journal is copied into the layout of this version, which needs",
    again: "start again",
    done: "the journal was copied into the layout of this version",
  },
}

/**
 * For a program that holds the lock of the folder. A journal of another layout is refused when it is
 * opened for writing.
 */
export function upgradeJournal(folder: string, progress?: CopyProgress, step?: number): void {
  const path = join(folder, "journal.db")
  if (existsSync(path) && layoutOf(path) === formerLayout)
    copyJournal(folder, upgraded, progress, step)
  else removeDatabase(join(folder, upgraded.name))
}

/**
 * Makes the rows of the former layout available to a reading connection under the names of this
 * layout. Throws for another layout.
 */
export function readFormerJournal(journal: DatabaseSync): void {
  const layout = versionOf(journal)
  if (layout !== formerLayout) return requireKnown("journal", layout)
  journal.exec(
    `CREATE TEMP VIEW entries AS
     SELECT e.n, e.workspace, e.sequence, e.receipt, e.idem, e.record, d.sealed, b.salted
     FROM main.entries e LEFT JOIN main.bodies b ON b.n = e.n LEFT JOIN main.disclosures d ON d.n = e.n;
     CREATE TEMP VIEW places AS SELECT 0 AS n, 0 AS workspace, 0 AS sequence, 0 AS count WHERE false;`,
  )
  for (const table of ["frames", "stretches", "disclosures"])
    journal.exec(
      `CREATE TEMP VIEW ${table} AS
       SELECT 0 AS number, 0 AS workspace, 0 AS first, 0 AS part, 0 AS count, x'' AS bytes WHERE false`,
    )
}
