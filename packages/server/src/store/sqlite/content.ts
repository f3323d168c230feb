// Packs, gives, drops and destroys the content of entries in journal.db (../content-keeper.ts), on
// a connection of its own. Commits wait while it holds the database, so frames are made and checked
// before each transaction: no other connection changes what is not the end of a chain.

import { strict as assert } from "node:assert"
import type { DatabaseSync } from "node:sqlite"
import { bodySaltBytes } from "@tallystick/proof"
import type { ContentKeeper, Frame, Remaining, SequenceRange } from "../content-keeper.ts"
import { frameFault, frameWithout, nextFrame, stretchRead } from "../stretch.ts"
import { within } from "./database.ts"
import { frameLists, framePartReads } from "./frame-reads.ts"
import { bytes } from "./joined-entries.ts"
import { disclosuresOf, packDisclosures } from "./packed-text.ts"
import { workspaceNumbers } from "./reads.ts"

/** Eight rows fill a page. */
const partBytes = 2000
/** What one step removes or writes anew: some milliseconds. A frame costs as much as many rows. */
const framesPerStep = 32
const rowsPerFrame = 32
const rowsPerStep = 256

/** `journal`: opened for writing, without an fsync for each commit. */
export function createContentKeeper(journal: DatabaseSync): ContentKeeper {
  const numberOf = workspaceNumbers(journal)
  const packing = packingOf(journal)
  const frames = framesOf(journal)
  const listed = frameLists(journal)
  const destroying = destroyingOf(journal, frames)
  return {
    async pack(workspace, after, upTo) {
      const number = numberOf(workspace)
      return number === undefined ? undefined : packing(number, after, upTo)
    },
    async frames(workspace, after, bytesMax) {
      const number = numberOf(workspace)
      return number === undefined ? [] : listed(number, after, bytesMax)
    },
    async dropBodies(workspace, range) {
      const number = numberOf(workspace)
      return number === undefined ? range.last : frames.drop(number, range)
    },
    async putFrames(workspace, given) {
      const number = numberOf(workspace)
      assert(number !== undefined, "frames are put back to a workspace that is there")
      for (const frame of given) frames.putBack(number, frame)
    },
    async destroyBodies(workspace, ranges) {
      const number = numberOf(workspace)
      const last = ranges.at(-1)?.last ?? 0
      return number === undefined
        ? last
        : synced(journal, () => destroying.bodies(number, ranges) ?? last)
    },
    async keepDisclosures(workspace, remaining) {
      const number = numberOf(workspace)
      const some = remaining.slice(0, rowsPerStep)
      if (number !== undefined) synced(journal, () => destroying.disclosures(number, some))
      return some.at(-1)?.sequence ?? 0
    },
    clearLog: async () => clearLog(journal),
  }
}

/** A transaction that is on the disk when it returns. */
function synced<T>(journal: DatabaseSync, act: () => T): T {
  journal.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;")
  try {
    return within(journal, act)
  } finally {
    journal.exec("PRAGMA synchronous = NORMAL; PRAGMA fullfsync = OFF;")
  }
}

function clearLog(journal: DatabaseSync): boolean {
  // Most of it without making a commit wait.
  journal.exec("PRAGMA wal_checkpoint(PASSIVE);")
  const busy = journal.prepare("PRAGMA busy_timeout").get()
  journal.exec("PRAGMA busy_timeout = 0;")
  try {
    return journal.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0
  } finally {
    journal.exec(`PRAGMA busy_timeout = ${Number(busy?.["timeout"])};`)
  }
}

function packingOf(journal: DatabaseSync) {
  const unpacked = journal.prepare(
    `SELECT sequence, record, salted FROM entries WHERE workspace = ?1 AND sequence > ?2
       AND sequence <= min(?3, (SELECT max(sequence) FROM entries WHERE workspace = ?1) - 1)
     ORDER BY sequence LIMIT ${stretchRead}`,
  )
  const settle = journal.prepare(
    `INSERT INTO settled (n, workspace, sequence, receipt, idem, record, sealed)
     SELECT n, workspace, sequence, receipt, idem, record, sealed FROM entries
     WHERE workspace = ? AND sequence BETWEEN ? AND ? ORDER BY sequence`,
  )
  const remove = journal.prepare(
    "DELETE FROM entries WHERE workspace = ? AND sequence BETWEEN ? AND ?",
  )
  const put = framePuts(journal)
  return (number: number, after: number, upTo: number) => {
    const entries = unpacked.all(number, after, upTo).map((row) => {
      const salted = row["salted"] === null ? undefined : bytes(row["salted"])
      return {
        sequence: Number(row["sequence"]),
        record: bytes(row["record"]),
        bodySalt: salted?.subarray(0, bodySaltBytes),
        body: salted?.subarray(bodySaltBytes),
      }
    })
    const next = nextFrame(entries)
    if (next === undefined) return undefined
    if ("last" in next) return { last: next.last, entries: 0, bytes: 0 }
    const { first, count } = next.frame
    const last = first + count - 1
    within(journal, () => {
      put(number, next.frame)
      assert.equal(settle.run(number, first, last).changes, count, "every entry is settled")
      remove.run(number, first, last)
    })
    return { last, entries: count, bytes: next.frame.bytes.length }
  }
}

/** An empty frame is not stored. */
function framePuts(journal: DatabaseSync): (number: number, frame: Frame) => void {
  const put = journal.prepare(
    "INSERT INTO frames (workspace, first, part, count, bytes) VALUES (?, ?, ?, ?, ?)",
  )
  return (number, { first, count, bytes: frame }) => {
    for (let part = 0; part * partBytes < frame.length; part++) {
      const from = part * partBytes
      put.run(number, first, part, count, frame.subarray(from, from + partBytes))
    }
  }
}

type Frames = ReturnType<typeof framesOf>

function framesOf(journal: DatabaseSync) {
  const overlapping = journal.prepare(
    `SELECT first, count FROM frames WHERE workspace = ?1 AND part = 0 AND first <= ?3 AND first + count > ?2
       AND first >= ifnull((SELECT max(first) FROM frames WHERE workspace = ?1 AND first <= ?2), ?2)
     ORDER BY first LIMIT ${framesPerStep}`,
  )
  const records = journal.prepare(
    "SELECT sequence, record FROM recorded WHERE workspace = ? AND sequence BETWEEN ? AND ? ORDER BY sequence",
  )
  const parts = framePartReads(journal)
  const put = framePuts(journal)
  const remove = journal.prepare("DELETE FROM frames WHERE workspace = ? AND first = ?")

  const reads = {
    /** Up to a step of them. */
    in: (number: number, { first, last }: SequenceRange): readonly SequenceRange[] =>
      overlapping.all(number, first, last).map((row) => ({
        first: Number(row["first"]),
        last: Number(row["first"]) + Number(row["count"]) - 1,
      })),
    records: (number: number, { first, last }: SequenceRange) =>
      records.all(number, first, last).map((row) => ({
        sequence: Number(row["sequence"]),
        record: bytes(row["record"]),
      })),
  }
  return {
    ...reads,
    drop(number: number, range: SequenceRange): number {
      const some = reads.in(number, range)
      for (const { first, last } of some)
        assert(
          first >= range.first && last <= range.last,
          "no frame lies partly in what is dropped",
        )
      within(journal, () => {
        for (const { first } of some) remove.run(number, first)
      })
      return some.length < framesPerStep ? range.last : (some.at(-1)?.last ?? range.last)
    },
    putBack(number: number, frame: Frame): void {
      const range = { first: frame.first, last: frame.first + frame.count - 1 }
      const [there] = reads.in(number, range)
      if (there !== undefined) {
        assert.deepEqual(there, range, "a frame that is there has the same entries")
        return
      }
      const fault = frameFault(frame, reads.records(number, range))
      assert.equal(fault, undefined, `the frame of entry ${frame.first} ${fault}`)
      within(journal, () => put(number, frame))
    },
    /** Removes the frame, and puts another one in its place. */
    replace(number: number, frame: Frame): void {
      remove.run(number, frame.first)
      put(number, frame)
    },
    bytesOf: parts,
  }
}

function destroyingOf(journal: DatabaseSync, frames: Frames) {
  const emptyRows = journal.prepare(
    "UPDATE entries SET salted = NULL, sealed = NULL WHERE workspace = ? AND sequence BETWEEN ? AND ?",
  )
  const emptySettled = journal.prepare(
    "UPDATE settled SET sealed = NULL WHERE workspace = ? AND sequence BETWEEN ? AND ? AND sealed IS NOT NULL",
  )
  const sealedOf = journal.prepare(
    "SELECT sealed FROM recorded WHERE workspace = ? AND sequence = ?",
  )
  const [keepInRow, keepSettled] = ["entries", "settled"].map((table) =>
    journal.prepare(`UPDATE ${table} SET sealed = ? WHERE workspace = ? AND sequence = ?`),
  )

  /** Returns how far it came, after so many frames at most. */
  const destroy = (
    number: number,
    range: SequenceRange,
    ranges: readonly SequenceRange[],
    left: number,
  ) => {
    const some = frames.in(number, range).slice(0, left)
    const reached = some.length < left ? range.last : (some.at(-1)?.last ?? range.last)
    const last = Math.min(reached, range.last, range.first + rowsPerStep - 1)
    const hit = some.filter(({ first }) => first <= last)
    const isGone = (sequence: number): boolean =>
      ranges.some(({ first, last: end }) => sequence >= first && sequence <= end)
    for (const one of hit) {
      const frame = { first: one.first, count: one.last - one.first + 1 }
      const bytesThere = frames.bytesOf(number, one.first)
      const entries = frames.records(number, one)
      frames.replace(number, frameWithout({ ...frame, bytes: bytesThere }, entries, isGone))
    }
    emptyRows.run(number, range.first, last)
    emptySettled.run(number, range.first, last)
    return { last, cost: hit.length + Math.ceil((last - range.first + 1) / rowsPerFrame) }
  }

  return {
    /** Returns how far it came; undefined if it came to the end. */
    bodies(number: number, ranges: readonly SequenceRange[]): number | undefined {
      let left = framesPerStep
      for (const range of ranges) {
        for (let { first } = range; first <= range.last;) {
          if (left <= 0) return first - 1
          const { last, cost } = destroy(number, { first, last: range.last }, ranges, left)
          left -= cost
          first = last + 1
        }
      }
      return undefined
    },
    disclosures(number: number, remaining: readonly Remaining[]): void {
      for (const { sequence, disclosures } of remaining) {
        const before = disclosuresOf(sealedOf.get(number, sequence)?.["sealed"]).split("~")
        const some = disclosures === "" ? [] : disclosures.split("~")
        assert(
          some.every((one) => before.includes(one)),
          "only disclosures that the entry has can remain",
        )
        if (some.length === before.length) continue
        const sealed = packDisclosures(Buffer.from(disclosures, "latin1"))
        keepInRow?.run(sealed, number, sequence)
        keepSettled?.run(sealed, number, sequence)
      }
    },
  }
}
