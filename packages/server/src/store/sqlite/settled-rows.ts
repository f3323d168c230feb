// Moves the rows that packed entries have in an older layout into stretches, within the file, a few
// stretches in each transaction. If the process is killed, the next start continues with the
// remaining rows.

import type { DatabaseSync } from "node:sqlite"
import { frameEntries } from "../body-frame.ts"
import { openForWriting, stretchesLayout, within } from "./database.ts"
import { bytes } from "./joined-entries.ts"
import { countRows } from "./journal-copy.ts"
import type { UpgradeProgress } from "./journal-upgrade.ts"
import { stretchPuts, type Unpacked } from "./stretch-writes.ts"

/** `step`: the approximate number of entries in one transaction. */
export function moveSettledRows(path: string, progress: UpgradeProgress, step: number): void {
  moveAll(path, progress, step)
  // The next layout drops their table.
  openForWriting(path, "journal", "full").close()
}

function moveAll(path: string, progress: UpgradeProgress, step: number): void {
  using journal = openForWriting(path, "journal", "full", stretchesLayout)
  const move = stretchMoves(journal)
  const rows = countRows(journal, "settled")
  for (let [done, moved] = [0, 1]; moved > 0; done += moved) {
    progress(done, rows)
    moved = within(journal, () => {
      let some = 0
      for (let one = move(); one > 0; one = some < step ? move() : 0) some += one
      return some
    })
  }
}

/** Moves the next stretch; returns how many rows it had. */
function stretchMoves(journal: DatabaseSync): () => number {
  const next = journal.prepare(
    "SELECT workspace, sequence FROM settled ORDER BY workspace, sequence LIMIT 1",
  )
  // The stretch has the entries of the packer's frame. A destroyed frame had 64 at most.
  const frameEnd = journal.prepare(
    `SELECT first + count AS end FROM frames
     WHERE workspace = ? AND first <= ? AND part = 0 ORDER BY first DESC LIMIT 1`,
  )
  const rows = journal.prepare(
    `SELECT n, sequence, record, receipt, idem, sealed FROM settled
     WHERE workspace = ? AND sequence >= ? AND sequence < ? ORDER BY sequence LIMIT ${frameEntries}`,
  )
  const remove = journal.prepare(
    "DELETE FROM settled WHERE workspace = ? AND sequence BETWEEN ? AND ?",
  )
  const put = stretchPuts(journal)
  return () => {
    const found = next.get()
    if (found === undefined) return 0
    const [number, first] = [Number(found["workspace"]), Number(found["sequence"])]
    const end = Number(frameEnd.get(number, first)?.["end"] ?? first)
    const some = rows.all(number, first, end > first ? end : Number.MAX_SAFE_INTEGER)
    const entries = some
      .map((row): Unpacked => ({
        n: Number(row["n"]),
        sequence: Number(row["sequence"]),
        record: bytes(row["record"]),
        receipt: row["receipt"],
        idem: row["idem"],
        sealed: row["sealed"],
      }))
      .filter(({ sequence }, at) => sequence === first + at)
    put(number, entries)()
    return Number(remove.run(number, first, first + entries.length - 1).changes)
  }
}
