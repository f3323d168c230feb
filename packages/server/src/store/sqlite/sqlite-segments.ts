// Segments in the search file: one row for each part, and one row that ties a segment to the
// journal.

import type { DatabaseSync } from "node:sqlite"
import { assert, eventHash } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import { lastOf } from "../search/segment-plan.ts"
import { hashOfHeader } from "../search/segment-format.ts"
import {
  partsPerSweep,
  type SegmentKeeper,
  type SegmentName,
  type SegmentReader,
  type SegmentRow,
} from "../search/segments.ts"
import { emptyLog, within } from "./database.ts"
import { promised, type journalReads } from "./reads.ts"
import { workspaceNumbers } from "./workspace-numbers.ts"

export function segmentReads(search: DatabaseSync) {
  const numberOf = workspaceNumbers(search)
  const listed = search.prepare(
    "SELECT level, k, hash, bytes, last_record FROM segments WHERE workspace = ? AND hash <> ''",
  )
  const one = search.prepare(
    "SELECT bytes FROM parts WHERE workspace = ? AND level = ? AND k = ? AND part = ?",
  )
  const unlisted = search.prepare("SELECT level, k FROM segments WHERE workspace = ? AND hash = ''")
  const ids = search.prepare("SELECT id FROM workspaces ORDER BY number")
  const rows = (workspace: string): SegmentRow[] =>
    listed.all(numberOf(workspace) ?? -1).map((row) => {
      const { last_record: lastRecord } = row
      assert(lastRecord instanceof Uint8Array, "the column holds bytes")
      const [level, k, bytes] = [Number(row["level"]), Number(row["k"]), Number(row["bytes"])]
      return { level, k, bytes, hash: String(row["hash"]), lastRecord }
    })
  return {
    workspaces: (): readonly string[] => ids.all().map((row) => String(row["id"])),
    /** The segments in the order of their entries. */
    list: (workspace: string): readonly SegmentRow[] =>
      rows(workspace).toSorted((segment, other) => lastOf(segment) - lastOf(other)),
    /** Segments without a hash. */
    unlisted: (workspace: string): readonly SegmentName[] =>
      unlisted
        .all(numberOf(workspace) ?? -1)
        .map((row) => ({ level: Number(row["level"]), k: Number(row["k"]) })),
    part(workspace: string, { level, k }: SegmentName, part: number): Uint8Array | undefined {
      const bytes = one.get(numberOf(workspace) ?? -1, level, k, part)?.["bytes"]
      return bytes instanceof Uint8Array ? bytes : undefined
    },
  }
}

/** Only the writer of the file empties its log, so no commit of others waits. */
const clearWaitMs = 100

/** Lists are cached until the file is written. */
const listsMax = 1000

/** For a reader in another thread than the writer. A large workspace has a thousand segments. */
export function cachedSegmentReads(search: DatabaseSync): ReturnType<typeof segmentReads> {
  const reads = segmentReads(search)
  const version = search.prepare("PRAGMA data_version")
  const lists = new Map<string, readonly SegmentRow[]>()
  let listedAt: unknown
  return {
    ...reads,
    list(workspace) {
      const now = version.get()?.["data_version"]
      if (now !== listedAt || lists.size >= listsMax) lists.clear()
      listedAt = now
      const known = lists.get(workspace)
      if (known !== undefined) return known
      const list = reads.list(workspace)
      lists.set(workspace, list)
      return list
    },
  }
}

/** The same reads behind the interface that all engines share. */
export function segmentReaderOf(reads: ReturnType<typeof segmentReads>): SegmentReader {
  return promised(reads, "list", "part")
}

/**
 * Ties a segment to its journal: the hash of its last entry's record. Empty if the record is
 * missing.
 */
export function lastRecordOf(
  journal: Pick<ReturnType<typeof journalReads>, "recordsAt">,
  workspace: string,
  name: SegmentName,
): Uint8Array {
  const [record] = journal.recordsAt(workspace, [lastOf(name)])
  return record === undefined ? new Uint8Array() : eventHash(record, sha256)
}

/**
 * For the only connection that writes the file. A row of `segments` without a hash has parts that
 * nobody reads: they are staged, or a larger segment has absorbed theirs.
 */
export function createSegments(
  search: DatabaseSync,
  journal: ReturnType<typeof journalReads>,
): SegmentKeeper {
  const numberOf = workspaceNumbers(search)
  const addWorkspace = search.prepare("INSERT INTO workspaces (id) VALUES (?)")
  const addSegment = search.prepare(
    "INSERT OR REPLACE INTO segments (workspace, level, k, hash, bytes, last_record) VALUES (?, ?, ?, ?, ?, ?)",
  )
  const addPart = search.prepare(
    "INSERT OR REPLACE INTO parts (workspace, level, k, part, bytes) VALUES (?, ?, ?, ?, ?)",
  )
  const hashOf = search.prepare(
    "SELECT hash FROM segments WHERE workspace = ? AND level = ? AND k = ?",
  )
  const countStaged = search.prepare(
    "SELECT count(*) n FROM parts WHERE workspace = ? AND level = ? AND k = ? AND part > 0",
  )
  const unlist = search.prepare(
    "UPDATE segments SET hash = '', bytes = 0, last_record = x'' WHERE workspace = ? AND level = ? AND k = ?",
  )
  const remove = removals(search)
  const numbered = (workspace: string): number =>
    numberOf(workspace) ?? Number(addWorkspace.run(workspace).lastInsertRowid)

  return {
    ...segmentReaderOf(segmentReads(search)),
    async put(workspace, name, parts, absorbed, staged) {
      const { level, k } = name
      const { sequence = 0 } = journal.head(workspace) ?? {}
      assert(sequence >= lastOf(name), "the journal has the last entry of the segment")
      const lastRecord = lastRecordOf(journal, workspace, name)
      within(search, () => {
        const number = numbered(workspace)
        if (staged === undefined)
          for (const gone of [name, ...absorbed])
            for (const statement of remove) statement.run(number, gone.level, gone.k)
        else {
          const found = countStaged.get(number, level, k)?.["n"]
          assert(found === staged.count, "all parts were staged")
          for (const gone of absorbed) unlist.run(number, gone.level, gone.k)
        }
        let bytes = staged?.bytes ?? 0
        for (const [part, kept] of parts.entries()) {
          addPart.run(number, level, k, part, kept)
          bytes += kept.length
        }
        addSegment.run(number, level, k, hashOfHeader(parts), bytes, lastRecord)
      })
    },
    async stage(workspace, { level, k }, from, parts) {
      within(search, () => {
        const number = numbered(workspace)
        const hash = hashOf.get(number, level, k)?.["hash"] ?? ""
        assert(hash === "", "a listed segment is not staged")
        addSegment.run(number, level, k, "", 0, new Uint8Array())
        for (const [at, kept] of parts.entries()) addPart.run(number, level, k, from + at, kept)
      })
    },
    sweep: createSweep(search),
    clearLog: async () => emptyLog(search, clearWaitMs),
  }
}

function removals(search: DatabaseSync) {
  return (["segments", "parts"] as const).map((table) =>
    search.prepare(`DELETE FROM ${table} WHERE workspace = ? AND level = ? AND k = ?`),
  )
}

function createSweep(search: DatabaseSync): SegmentKeeper["sweep"] {
  const numberOf = workspaceNumbers(search)
  const unlisted = search.prepare(
    "SELECT level, k FROM segments WHERE workspace = ? AND hash = '' LIMIT 1",
  )
  const removeSome = search.prepare(
    `DELETE FROM parts WHERE rowid IN (
       SELECT rowid FROM parts WHERE workspace = ? AND level = ? AND k = ? LIMIT ${partsPerSweep}
     )`,
  )
  const remove = removals(search)
  return async (workspace) => {
    const number = numberOf(workspace) ?? -1
    const found = unlisted.get(number)
    if (found === undefined) return false
    const name = [number, Number(found["level"]), Number(found["k"])] as const
    within(search, () => {
      if (removeSome.run(...name).changes === 0)
        for (const statement of remove) statement.run(...name)
    })
    return true
  }
}
