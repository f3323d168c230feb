// The three files, for a program that rebuilds all derived data.

import { existsSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { StartError } from "../../error.ts"
import { frameStrays } from "../frame-strays.ts"
import type { Kept, KeptIndex, Keyed, Stray, Whole } from "../whole-ledger.ts"
import { isMarked, openStill } from "./copy.ts"
import { requireLedger, versionOf } from "./database.ts"
import { readFormerJournal } from "./journal-upgrade.ts"
import { lockFolder } from "./lock.ts"
import { indexReads, journalReads, logName, readerOf, workspaceNumbers } from "./reads.ts"
import { registryOf } from "./registry.ts"
import { bucketOf, makeRun, pieceChars, runEntries, runOf } from "./key-runs.ts"
import type { Place } from "./place-reads.ts"
import { repeatedValues } from "./repeated-values.ts"
import { frameLists } from "./stretch-reads.ts"
import { segmentsSince } from "./search-file.ts"
import { segmentReads } from "./sqlite-segments.ts"
import { indexStrays, journalStrays, searchStrays } from "./orphans.ts"

/** The fastest of 32, 64, 128 and 256. */
const entriesPerRead = 64
/** The first layout of the index whose buckets hold the ends of keys. */
const endsLayout = 4

/** With `alone`, no service may run meanwhile. Otherwise it reads a snapshot of this moment. */
export function openSqliteWhole(folder: string, { alone }: { readonly alone: boolean }): Whole {
  requireLedger(folder)
  const lock = alone ? lockFolder(folder) : undefined
  const opened: DatabaseSync[] = []
  const open = (file: string): DatabaseSync | undefined => {
    if (!existsSync(join(folder, file))) return undefined
    const database = openStill(join(folder, file))
    opened.push(database)
    // Sorting a large ledger does not fit into memory.
    database.exec("PRAGMA temp_store = FILE;")
    return database
  }
  const close = async (): Promise<void> => {
    for (const database of opened) database.close()
    lock?.release()
  }
  try {
    // The derived files are opened first, so that they contain nothing that the journal lacks.
    const [found, index, journal] = [open("search.db"), open("index.db"), open("journal.db")]
    // The next start rebuilds it.
    const search = found && versionOf(found) < segmentsSince ? undefined : found
    if (journal === undefined) throw new StartError(`there is no ledger in ${folder}`)
    readFormerJournal(journal)
    return {
      ...readsOf(journal),
      entriesPerRead,
      isCopy: isMarked(journal),
      names: { journal: "journal.db", index: "index.db", search: "search.db" },
      index: index && indexOf(index, journal),
      ...segmentsIn(search),
      strays: straysIn(journal, index, search),
      close,
    }
  } catch (error) {
    void close()
    throw error
  }
}

function readsOf(
  journal: DatabaseSync,
): Pick<Whole, "journal" | "workspaces" | "count" | "last" | "repeated" | "registry"> {
  const numberOf = workspaceNumbers(journal)
  const ids = journal.prepare("SELECT id FROM workspaces ORDER BY number")
  const count = journal.prepare("SELECT max(n) AS n FROM entries")
  const last = journal.prepare("SELECT max(sequence) AS sequence FROM entries WHERE workspace = ?")
  const repeated = repeatedValues(journal)
  return {
    journal: readerOf(journalReads(journal)),
    workspaces: async () => ids.all().map((row) => String(row["id"])),
    count: async () => Number(count.get()?.["n"] ?? 0),
    last: async (workspace) => Number(last.get(numberOf(workspace) ?? -1)?.["sequence"] ?? 0),
    repeated: async (workspace, what) => repeated(numberOf(workspace) ?? -1, what),
    registry: registryOf(journal),
  }
}

function straysIn(
  journal: DatabaseSync,
  index: DatabaseSync | undefined,
  search: DatabaseSync | undefined,
): Whole["strays"] {
  const inEach: Readonly<Record<Kept, () => AsyncIterable<Stray> | Iterable<Stray>>> = {
    journal: () => allJournalStrays(journal),
    index: () => (index === undefined ? [] : indexStrays(index, journal)),
    search: () => (search === undefined ? [] : searchStrays(search, journal)),
  }
  return (of) => Array.fromAsync(inEach[of]())
}

async function* allJournalStrays(journal: DatabaseSync): AsyncGenerator<Stray> {
  yield* journalStrays(journal)
  const numberOf = workspaceNumbers(journal)
  const listed = frameLists(journal)
  const ids = journal.prepare("SELECT id FROM workspaces ORDER BY number").all()
  yield* frameStrays(
    {
      journal: readerOf(journalReads(journal)),
      frames: async (workspace, ...asked) => listed(numberOf(workspace) ?? -1, ...asked),
    },
    ids.map(({ id }) => String(id)),
  )
}

function segmentsIn(search: DatabaseSync | undefined): Pick<Whole, "segments" | "part"> {
  if (search === undefined) return { segments: async () => [], part: async () => undefined }
  const reads = segmentReads(search)
  return {
    segments: async (workspace) => reads.list(workspace),
    part: async (...asked) => reads.part(...asked),
  }
}

function indexOf(index: DatabaseSync, journal: DatabaseSync): KeptIndex {
  const reads = indexReads(index)
  const isFormer = versionOf(index) < endsLayout
  const tiles = index.prepare(
    "SELECT level, tile, hashes FROM tiles WHERE workspace = ? ORDER BY level, tile",
  )
  const runs = index.prepare("SELECT run FROM runs ORDER BY run")
  const kept = index.prepare(
    "SELECT lowest_receipt, highest_receipt, filter FROM runs WHERE run = ?",
  )
  const buckets = index.prepare(
    "SELECT bucket, keys, receipts FROM buckets WHERE run = ? ORDER BY bucket",
  )
  const entries = journalReads(journal)

  return {
    position: async (workspace) => reads.position(workspace),
    tree: async (...asked) => reads.tree(...asked),
    checkpoint: async (...asked) => reads.checkpoint(...asked),
    tiles: async (...asked) => reads.tiles(...asked),
    async *allTiles(workspace, epoch) {
      for (const row of tiles.iterate(logName(workspace, epoch))) {
        const { level, tile, hashes } = row
        yield {
          level: Number(level),
          tile: Number(tile),
          hashes: hashes instanceof Uint8Array ? hashes : new Uint8Array(),
        }
      }
    },
    // The next start rebuilds runs of an older layout.
    runs: async () => (isFormer ? [] : runs.all().map((row) => Number(row["run"]))),
    async keyed(run) {
      const made = makeRun(run, placesOf(run))
      const { lowest_receipt: lowest, highest_receipt: highest, filter } = kept.get(run) ?? {}
      const ends = lowest === made.lowestReceipt && highest === made.highestReceipt
      const isFiltered = filter instanceof Uint8Array && Buffer.compare(filter, made.filter) === 0
      return { run, wrong: firstWrong(run, made), isWhole: ends && isFiltered }
    },
  }

  /** Where a row is missing, the read goes on into the next run. */
  function* placesOf(run: number): Generator<Place> {
    for (const place of entries.places(run * runEntries, runEntries))
      if (runOf(place.n) === run) yield place
  }

  function firstWrong(run: number, made: ReturnType<typeof makeRun>): Keyed["wrong"] {
    const found = new Map(buckets.all(run).map((row) => [Number(row["bucket"]), row]))
    for (const what of ["keys", "receipts"] as const) {
      for (const [bucket, expected] of made[what].entries()) {
        const text = String(found.get(bucket)?.[what] ?? "")
        if (text === expected) continue
        const n = placeWhereUnlike(run, what, expected, text, bucket)
        const place = n === undefined ? undefined : entries.place(n)
        return { what, place: place && { workspace: place.workspace, sequence: place.sequence } }
      }
    }
    return undefined
  }

  /**
   * The number of the entry at whose piece the stored text of a bucket first differs from the
   * expected text.
   */
  function placeWhereUnlike(
    run: number,
    what: "keys" | "receipts",
    expected: string,
    found: string,
    bucket: number,
  ): number | undefined {
    let at = 0
    while (at < expected.length && expected[at] === found[at]) at++
    let start = 0
    for (const row of placesOf(run)) {
      const key = what === "keys" ? row.idem : row.receipt
      if (key === undefined || bucketOf(key) !== bucket) continue
      start += pieceChars
      if (at < start) return row.n
    }
    return undefined
  }
}
