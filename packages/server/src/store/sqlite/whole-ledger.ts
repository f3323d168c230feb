// The whole data of a ledger, for a program that derives everything from it again: the state at its
// opening, read in large steps.

import { existsSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { StartError } from "../../error.ts"
import type { LinkedRows } from "../linked-rows.ts"
import type { Checkpoint, Registry, Stored, Tree } from "../store.ts"
import { isMarked, openStill } from "./copy.ts"
import { requireLedger, versionOf } from "./database.ts"
import { readFormerJournal } from "./journal-upgrade.ts"
import { joinedReads } from "./joined-entries.ts"
import { lockFolder } from "./lock.ts"
import { indexReads, journalReads, linkedReads, logName, workspaceNumbers } from "./reads.ts"
import { registryOf } from "./registry.ts"
import { bucketOf, makeRun, pieceChars, runEntries } from "./key-runs.ts"
import { packIdem, packReceipt } from "./packed-text.ts"
import { segmentsSince } from "./search-file.ts"
import { segmentReads, type SegmentRow } from "./sqlite-segments.ts"
import { indexStrays, journalStrays, searchStrays, type Stray } from "./orphans.ts"

/**
 * For a program that derives everything again and trusts no derived data: the state at its opening.
 */
export interface Whole {
  readonly registry: Registry
  readonly isCopy: boolean
  /** Undefined if it is missing: it can be made again. */
  readonly index: KeptIndex | undefined
  /** All workspaces that have entries, whether or not the registry has them. */
  workspaces(): readonly string[]
  /** The most entries that there can be, of all workspaces together. */
  count(): number
  /** The last sequence; 0 without entries. */
  last(workspace: string): number
  /** The entries after a sequence, in order. Only the chain tells whether one is missing. */
  entries(workspace: string, after: number, limit: number): readonly Stored[]
  /** The same, joined end to end as they are hashed: rows would cost as much as the hashing. */
  linked(workspace: string, after: number, limit: number): LinkedRows
  /** The first entry that has the receipt, or the idempotency key, of an entry before it. */
  repeated(workspace: string, what: "receipt" | "idem"): number | undefined
  /** Rows of one of the three files that belong to no entry. */
  strays(of: Kept): readonly Stray[]
  /** The stored segments of the search, in the order of their entries. */
  segments(workspace: string): readonly SegmentRow[]
  /** A part of one of them. */
  part: SegmentReads["part"]
  close(): void
}

/** The stored index. */
export interface KeptIndex {
  position(workspace: string): number
  tree(workspace: string, epoch: number): Tree | undefined
  checkpoint(workspace: string, epoch: number): Checkpoint | undefined
  tile(workspace: string, epoch: number, level: number, tile: number): Uint8Array
  tiles(
    workspace: string,
    epoch: number,
  ): Iterable<{ readonly level: number; readonly tile: number; readonly hashes: Uint8Array }>
  /** The pieces that the index of keys and receipts has. */
  runs(): readonly number[]
  /** One of them, made again and compared. */
  keyed(run: number): Keyed
}

export type Kept = "journal" | "index" | "search"

/**
 * A piece of the index of keys and receipts: its first fault, with the entry if it concerns one.
 */
export interface Keyed {
  readonly run: number
  readonly wrong:
    | {
        readonly what: "keys" | "receipts"
        readonly place: { readonly workspace: string; readonly sequence: number } | undefined
      }
    | undefined
  /** Whether the facts about the whole piece are right. */
  readonly isWhole: boolean
}

/** The first layout of the index whose buckets hold the ends of keys. */
const endsLayout = 4

/** `alone`: no service may run meanwhile. Otherwise it reads the state of this moment. */
export function openWhole(folder: string, { alone }: { readonly alone: boolean }): Whole {
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
  const close = (): void => {
    for (const database of opened) database.close()
    lock?.release()
  }
  try {
    // The derived files first, so that they have nothing that the journal lacks.
    const [found, index, journal] = [open("search.db"), open("index.db"), open("journal.db")]
    // The next start makes it again.
    const search = found && versionOf(found) < segmentsSince ? undefined : found
    if (journal === undefined) throw new StartError(`there is no ledger in ${folder}`)
    readFormerJournal(journal)
    return {
      ...readsOf(journal),
      isCopy: isMarked(journal),
      index: index && indexOf(index, journal),
      ...segmentsIn(search),
      strays: straysIn(journal, index, search),
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}

function readsOf(
  journal: DatabaseSync,
): Pick<Whole, "workspaces" | "count" | "last" | "entries" | "linked" | "repeated" | "registry"> {
  const numberOf = workspaceNumbers(journal)
  const ids = journal.prepare("SELECT id FROM workspaces ORDER BY number")
  const joined = joinedReads(journal)
  const linked = linkedReads(journal)
  const count = journal.prepare("SELECT max(n) AS n FROM entries")
  const last = journal.prepare("SELECT max(sequence) AS sequence FROM entries WHERE workspace = ?")
  const again = (column: "receipt" | "idem", pack: typeof packReceipt | typeof packIdem) => {
    // The service packs what it can. Somebody else may have written the same value as text.
    journal.function(`packed_${column}`, { deterministic: true }, (text) => {
      const packed = pack(Buffer.from(String(text)))
      return packed instanceof Uint8Array ? packed.slice() : packed
    })
    return journal.prepare(
      `SELECT max(sequence) AS sequence FROM entries WHERE workspace = ? AND ${column} IS NOT NULL
       GROUP BY CASE typeof(${column}) WHEN 'text' THEN packed_${column}(${column}) ELSE ${column} END
       HAVING count(*) > 1 ORDER BY 1 LIMIT 1`,
    )
  }
  const repeated = { receipt: again("receipt", packReceipt), idem: again("idem", packIdem) }
  return {
    workspaces: () => ids.all().map((row) => String(row["id"])),
    entries: (workspace, after, limit) =>
      joined({ workspace, number: numberOf(workspace) ?? -1, after, limit, bytesMax: Infinity }),
    linked: (workspace, after, limit) => linked(numberOf(workspace) ?? -1, after, limit),
    count: () => Number(count.get()?.["n"] ?? 0),
    last: (workspace) => Number(last.get(numberOf(workspace) ?? -1)?.["sequence"] ?? 0),
    repeated(workspace, what) {
      const row = repeated[what].get(numberOf(workspace) ?? -1)
      return row === undefined ? undefined : Number(row["sequence"])
    },
    registry: registryOf(journal),
  }
}

function straysIn(
  journal: DatabaseSync,
  index: DatabaseSync | undefined,
  search: DatabaseSync | undefined,
): (of: Kept) => readonly Stray[] {
  const inEach: Readonly<Record<Kept, () => Iterable<Stray>>> = {
    journal: () => journalStrays(journal),
    index: () => (index === undefined ? [] : indexStrays(index, journal)),
    search: () => (search === undefined ? [] : searchStrays(search, journal)),
  }
  return (of) => [...inEach[of]()]
}

type SegmentReads = ReturnType<typeof segmentReads>

function segmentsIn(search: DatabaseSync | undefined): Pick<Whole, "segments" | "part"> {
  if (search === undefined) return { segments: () => [], part: () => undefined }
  const reads = segmentReads(search)
  return {
    segments: (workspace) => reads.list(workspace),
    part: (...asked) => reads.part(...asked),
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
    position: reads.position,
    tree: (...asked) => reads.tree(...asked),
    checkpoint: (...asked) => reads.checkpoint(...asked),
    tile: (workspace, epoch, level, tile) =>
      reads.tiles(workspace, epoch, [{ level, tile }])[0] ?? new Uint8Array(),
    *tiles(workspace, epoch) {
      for (const row of tiles.iterate(logName(workspace, epoch))) {
        const { level, tile, hashes } = row
        yield {
          level: Number(level),
          tile: Number(tile),
          hashes: hashes instanceof Uint8Array ? hashes : new Uint8Array(),
        }
      }
    },
    // Those of an older layout are filled again by the next start.
    runs: () => (isFormer ? [] : runs.all().map((row) => Number(row["run"]))),
    keyed(run) {
      const made = makeRun(run, entries.places(run * runEntries, runEntries))
      const { lowest_receipt: lowest, highest_receipt: highest, filter } = kept.get(run) ?? {}
      const ends = lowest === made.lowestReceipt && highest === made.highestReceipt
      const isFiltered = filter instanceof Uint8Array && Buffer.compare(filter, made.filter) === 0
      return { run, wrong: firstWrong(run, made), isWhole: ends && isFiltered }
    },
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
   * Which entry's piece of a bucket is not as it should be; the first that is not there, where all
   * that is there is right.
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
    for (const row of entries.places(run * runEntries, runEntries)) {
      const key = what === "keys" ? row.idem : row.receipt
      if (key === undefined || bucketOf(key) !== bucket) continue
      start += pieceChars
      if (at < start) return row.n
    }
    return undefined
  }
}
