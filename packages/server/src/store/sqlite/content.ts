// Packs, returns, drops and destroys the content of entries in journal.db (../content-keeper.ts),
// on a connection of its own. Commits wait while it locks the database, so frames are made and
// checked before each transaction. That is safe, because other connections change only the end of a
// chain.

import { assert } from "@tallystick/proof"
import type { DatabaseSync } from "node:sqlite"
import type { SequenceRange } from "@tallystick/proof"
import type { ContentKeeper, Frame } from "../content-keeper.ts"
import { saltAndBody } from "../entries.ts"
import { nextFrame, partsToPut, stretchRead } from "../stretch.ts"
import {
  bodyDestroying,
  disclosureDestroying,
  packedEntries,
  type PackedEntries,
  type Step,
} from "./content-destroying.ts"
import { bytes, emptyLog, syncLog, within } from "./database.ts"
import { movedInJournal, movedInSearch, overwritingCopies } from "./moved-rows.ts"
import { partWrites } from "./part-tables.ts"
import { frameLists } from "./stretch-reads.ts"
import { stretchPuts } from "./stretch-writes.ts"
import { workspaceNumbers } from "./workspace-numbers.ts"

/** Both are opened for writing, without an fsync for each commit. */
export function createContentKeeper(journal: DatabaseSync, search?: DatabaseSync): ContentKeeper {
  const numberOf = workspaceNumbers(journal)
  const packed = packedEntries(journal)
  const packing = packingOf(journal)
  const frames = framesOf(journal, packed)
  const listed = frameLists(journal)
  const destroyedBodies = bodyDestroying(journal, packed)
  const keptDisclosures = disclosureDestroying(journal, packed)
  const files = [overwritingCopies(journal, movedInJournal)]
  if (search !== undefined) files.push(overwritingCopies(search, movedInSearch))
  /** How many files have no copies of what was destroyed so far. */
  let overwritten = 0
  const destroyed = (step: Step): number => {
    overwritten = 0
    return taken(journal, step)
  }
  /** Acts on a workspace that is there. */
  const on = async <T>(workspace: string, none: T, act: (number: number) => T): Promise<T> => {
    const number = numberOf(workspace)
    return number === undefined ? none : act(number)
  }
  return {
    pack: (workspace, ...asked) => on(workspace, undefined, (number) => packing(number, ...asked)),
    frames: (workspace, ...asked) => on(workspace, [], (number) => listed(number, ...asked)),
    dropBodies: (workspace, range) =>
      on(workspace, range.last, (number) => frames.drop(number, range)),
    async putFrames(workspace, given) {
      const number = numberOf(workspace)
      assert(number !== undefined, "frames are put back to a workspace that is there")
      for (const frame of given) frames.putBack(number, frame)
      syncLog(journal)
    },
    destroyBodies: (workspace, ranges) =>
      on(workspace, ranges.at(-1)?.last ?? 0, (number) =>
        destroyed(destroyedBodies(number, ranges)),
      ),
    keepDisclosures: (workspace, remaining) =>
      on(workspace, remaining.at(-1)?.sequence ?? 0, (number) =>
        destroyed(keptDisclosures(number, remaining)),
      ),
    // Emptying the log syncs both files.
    clearLog: async () => emptyLog(journal, 0),
    async overwriteCopies() {
      // Each is looked through again by every call, so a clean one waits for the other.
      while (overwritten < files.length && files[overwritten]?.() === true) overwritten++
      if (overwritten < files.length) return false
      overwritten = 0
      return true
    },
  }
}

/** Runs a step in one transaction. */
function taken(journal: DatabaseSync, { writes, last }: Step): number {
  if (writes.length > 0) within(journal, () => writes.forEach((write) => write()))
  return last
}

function packingOf(journal: DatabaseSync) {
  const unpacked = journal.prepare(
    `SELECT n, sequence, record, receipt, idem, sealed, salted
     FROM entries WHERE workspace = ?1 AND sequence > ?2
       AND sequence <= min(?3, (SELECT max(sequence) FROM entries WHERE workspace = ?1) - 1)
     ORDER BY sequence LIMIT ${stretchRead}`,
  )
  const remove = journal.prepare(
    "DELETE FROM entries WHERE workspace = ? AND sequence BETWEEN ? AND ?",
  )
  const frames = partWrites(journal, "frames")
  const put = stretchPuts(journal)
  return (number: number, after: number, upTo: number, mayBePart?: boolean) => {
    const rows = unpacked.all(number, after, upTo).map((row) => {
      const salted = row["salted"] === null ? undefined : bytes(row["salted"])
      const sealed = row["sealed"]
      return {
        n: Number(row["n"]),
        sequence: Number(row["sequence"]),
        record: bytes(row["record"]),
        receipt: row["receipt"],
        idem: row["idem"],
        sealed,
        besideBytes: sealed instanceof Uint8Array ? sealed.length : String(sealed ?? "").length,
        ...saltAndBody(salted),
      }
    })
    const next = nextFrame(rows, mayBePart)
    if (next === undefined) return undefined
    if ("last" in next) return { last: next.last, entries: 0, bytes: 0 }
    const { first, count, bytes: frame } = next.frame
    const last = first + count - 1
    const write = put(number, rows.slice(0, count))
    within(journal, () => {
      frames.put(number, first, count, frame)
      write()
      assert(remove.run(number, first, last).changes === count, "every row is in the stretch")
    })
    return { last, entries: count, bytes: frame.length }
  }
}

/** Frames that one step drops, in some milliseconds. */
const framesPerStep = 32

function framesOf(journal: DatabaseSync, { frames, records }: PackedEntries) {
  const withBody = journal.prepare(
    `SELECT sequence FROM entries
     WHERE workspace = ? AND sequence BETWEEN ? AND ? AND salted IS NOT NULL`,
  )
  const writes = partWrites(journal, "frames")
  return {
    drop(number: number, range: SequenceRange): number {
      const some = [...frames.over(number, range).take(framesPerStep)]
      for (const { first, end } of some)
        assert(first >= range.first && end - 1 <= range.last, "no frame lies partly in it")
      within(journal, () => {
        for (const { first } of some) writes.remove(number, first)
      })
      const isDone = some.length < framesPerStep
      return isDone ? range.last : (some.at(-1)?.end ?? 0) - 1
    },
    putBack(number: number, frame: Frame): void {
      const range = { first: frame.first, last: frame.first + frame.count - 1 }
      const there = [...frames.over(number, range)].map((span) => ({
        first: span.first,
        count: span.end - span.first,
        bytes: frames.bytes(number, span),
      }))
      const rows = withBody.all(number, range.first, range.last)
      const inRows = rows.map(({ sequence }) => Number(sequence))
      const parts = partsToPut(frame, records(number, range), there, inRows)
      within(journal, () => {
        for (const { first, count, bytes } of parts) writes.put(number, first, count, bytes)
      })
    },
  }
}
