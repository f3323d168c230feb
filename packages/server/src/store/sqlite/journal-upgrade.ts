// Upgrades a journal of the former layout: copies its entries into a new file in the same folder, a
// few at a time, compares each with the original, and replaces the original once the copy is
// complete. The original is not changed before that, so the process may be killed at any moment:
// the next one continues after the last copied entry.

import { strict as assert } from "node:assert"
import { existsSync, renameSync, statSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import { StartError } from "../../error.ts"
import { syncPath } from "../../runtime/durable-file.ts"
import {
  atMost,
  errorCode,
  formerLayout,
  full,
  isDamage,
  layoutOf,
  openForWriting,
  requireKnown,
  versionOf,
  within,
} from "./database.ts"
import { copyMark, copySmallTables, countRows, leaveLog, requireRoom } from "./journal-copy.ts"
import {
  disclosuresOf,
  idemOf,
  packDisclosures,
  packIdem,
  packReceipt,
  receiptOf,
} from "./packed-text.ts"
import { removeDatabase } from "./search-file.ts"

/** Reports how many of the entries were copied, before the first step and after each. */
export type UpgradeProgress = (done: number, entries: number) => void

/** At most half a gigabyte. Each step costs an fsync. */
const entriesPerStep = 2000

/**
 * For a program that holds the lock of the folder. A journal of another layout is refused when it is
 * opened for writing.
 */
export function upgradeJournal(
  folder: string,
  progress: UpgradeProgress = () => {},
  step = entriesPerStep,
): void {
  const path = join(folder, "journal.db")
  const next = `${path}.next`
  if (!existsSync(path) || layoutOf(path) !== formerLayout) {
    removeDatabase(next)
    return
  }
  openForWriting(path, "journal", "full", false).close()
  // The new file needs about the space of the former one, and its log the space of one step, which
  // is not known in advance.
  requireRoom(
    folder,
    next,
    statSync(path).size,
    "the journal is copied into the layout of this version, which needs",
  )
  try {
    using upgraded = openNext(path, next)
    copyEntries(upgraded, step, progress)
    // At the end, because the older version may have changed them since the copy began.
    within(upgraded, () => copySmallTables(upgraded))
    copyMark(upgraded)
    upgraded.exec("DETACH former")
  } catch (cause) {
    if (errorCode(cause) !== full) throw cause
    throw new StartError(
      `the disk of ${folder} was full before the journal was copied into the layout of this version; free some space, and the next start continues from there`,
      { cause },
    )
  }
  leaveLog(path, "start again", false)
  renameSync(next, path)
  syncPath(folder)
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

/** Opens the incomplete copy if it is the beginning of this journal, or else a new file. */
function openNext(path: string, next: string): DatabaseSync {
  try {
    const upgraded = openForWriting(next, "journal", "full")
    attach(upgraded, path)
    const last = upgraded
      .prepare(
        `SELECT e.record = o.record AS same FROM main.entries e LEFT JOIN former.entries o ON o.n = e.n
         ORDER BY e.n DESC LIMIT 1`,
      )
      .get()
    if (last === undefined || last["same"] === 1) return upgraded
    upgraded.close()
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  removeDatabase(next)
  const upgraded = openForWriting(next, "journal", "full")
  attach(upgraded, path)
  return upgraded
}

function attach(upgraded: DatabaseSync, path: string): void {
  upgraded.prepare("ATTACH ? AS former").run(path)
  const bytesOf = (text: SQLOutputValue): Buffer =>
    Buffer.from(typeof text === "string" ? text : "", "latin1")
  upgraded.function("pack_receipt", (text) => packReceipt(bytesOf(text)))
  upgraded.function("pack_idem", (text) => packIdem(bytesOf(text)))
  upgraded.function("pack_sealed", (text) => packDisclosures(bytesOf(text)))
  upgraded.function("receipt_of", (column) => receiptOf(column))
  upgraded.function("idem_of", (column) => idemOf(column) ?? null)
  upgraded.function("sealed_of", (column) => disclosuresOf(column))
}

function copyEntries(upgraded: DatabaseSync, step: number, progress: UpgradeProgress): void {
  const from = `former.entries e LEFT JOIN former.bodies b ON b.n = e.n
    LEFT JOIN former.disclosures d ON d.n = e.n`
  const copy = upgraded.prepare(
    `INSERT INTO main.entries (n, workspace, sequence, receipt, idem, record, sealed, salted)
     SELECT e.n, e.workspace, e.sequence, pack_receipt(e.receipt), pack_idem(e.idem), e.record,
            pack_sealed(d.sealed), b.salted
     FROM ${from} WHERE e.n > ? ORDER BY e.n ${atMost}`,
  )
  const same = upgraded.prepare(
    `SELECT count(*) AS count FROM ${from} JOIN main.entries m ON m.n = e.n
     WHERE e.n > ? AND m.workspace = e.workspace AND m.sequence = e.sequence
       AND receipt_of(m.receipt) = e.receipt AND idem_of(m.idem) IS e.idem AND m.record = e.record
       AND sealed_of(m.sealed) = ifnull(d.sealed, '') AND m.salted IS b.salted`,
  )
  const last = upgraded.prepare("SELECT max(n) AS n FROM main.entries")
  const entries = countRows(upgraded, "former.entries")
  let done = countRows(upgraded, "main.entries")
  for (let copied = 1; copied > 0; done += copied) {
    progress(done, entries)
    const after = Number(last.get()?.["n"] ?? Number.MIN_SAFE_INTEGER)
    copied = within(upgraded, () => {
      const { changes } = copy.run(after, step)
      assert.equal(same.get(after)?.["count"], changes, "the copy has as many rows as the original")
      return Number(changes)
    })
  }
}
