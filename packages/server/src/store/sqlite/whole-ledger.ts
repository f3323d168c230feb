// The three files, for a program that rebuilds all derived data.

import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { StartError } from "../../error.ts"
import { frameEntries } from "../body-frame.ts"
import { frameStrays, type FrameToCheck } from "../frame-strays.ts"
import type { Kept, KeptIndex, Stray, UnpackedContent, Whole } from "../whole-ledger.ts"
import { isMarked, openStill } from "./copy.ts"
import { hasContent, requireLedger, versionOf } from "./database.ts"
import { readFormerJournal } from "./journal-upgrade.ts"
import { lockFolder } from "./lock.ts"
import { partReads } from "./part-tables.ts"
import { indexReads, journalReads, logName, promised, readerOf } from "./reads.ts"
import { registryOf } from "./registry.ts"
import { repeatedNames } from "./repeated-names.ts"
import { runChecks } from "./run-checks.ts"
import type { UnpackedListener } from "./stretch-reads.ts"
import { segmentsSince } from "./search-file.ts"
import { segmentReads } from "./sqlite-segments.ts"
import { indexStrays, journalStrays, searchStrays } from "./orphans.ts"
import { workspaceNumbers } from "./workspace-numbers.ts"

/** The fastest of 32, 64, 128 and 256. */
const entriesPerRead = 64

/** With `alone`, no service may run meanwhile. Otherwise it reads a snapshot of this moment. */
export function openSqliteWhole(folder: string, { alone }: { readonly alone: boolean }): Whole {
  requireLedger(folder)
  using opening = new DisposableStack()
  if (alone) opening.use(lockFolder(folder))
  const open = (file: string): DatabaseSync | undefined => {
    if (!hasContent(join(folder, file))) return undefined
    const database = opening.use(openStill(join(folder, file)))
    // Sorting a large ledger does not fit into memory.
    database.exec("PRAGMA temp_store = FILE;")
    return database
  }
  // The derived files are opened first, so that they contain nothing that the journal lacks.
  const [found, index, journal] = [open("search.db"), open("index.db"), open("journal.db")]
  // The next start rebuilds it.
  const search = found && versionOf(found) < segmentsSince ? undefined : found
  if (journal === undefined) throw new StartError(`there is no ledger in ${folder}`)
  readFormerJournal(journal)
  const right = { frames: [] as number[], disclosures: [] as number[] }
  const whole = {
    ...readsOf(journal, {
      frame: (version) => right.frames.push(version),
      disclosures: (version) => right.disclosures.push(version),
    }),
    repeated: async (_: readonly string[], isIndexRight: boolean) =>
      repeatedNames(journalReads(journal), isIndexRight ? index : undefined),
    entriesPerRead,
    isCopy: isMarked(journal),
    names: { journal: "journal.db", index: "index.db", search: "search.db" },
    index: index && indexOf(index, journal),
    ...segmentsIn(search),
    strays: straysIn(journal, index, search),
    unpacked: () => ({ frames: right.frames.splice(0), disclosures: right.disclosures.splice(0) }),
  }
  const opened = opening.move()
  return { ...whole, close: async () => opened.dispose() }
}

function readsOf(
  journal: DatabaseSync,
  listener: UnpackedListener,
): Pick<Whole, "journal" | "workspaces" | "count" | "last" | "registry"> {
  const numberOf = workspaceNumbers(journal)
  const ids = journal.prepare("SELECT id FROM workspaces ORDER BY number")
  const count = journal.prepare("SELECT max(n) AS n FROM entries")
  // The last entry is never packed; where somebody has removed it, the packed ones are not missing.
  const last = journal.prepare(
    `SELECT max(sequence) AS sequence FROM (
       SELECT max(sequence) AS sequence FROM entries WHERE workspace = ?1
       UNION ALL
       SELECT max(first) + min(count, ${frameEntries}) - 1 FROM stretches WHERE workspace = ?1)`,
  )
  return {
    journal: readerOf(journalReads(journal, undefined, listener)),
    workspaces: async () => ids.all().map((row) => String(row["id"])),
    count: async () => Number(count.get()?.["n"] ?? 0),
    last: async (workspace) => Number(last.get(numberOf(workspace) ?? -1)?.["sequence"] ?? 0),
    registry: registryOf(journal),
  }
}

function straysIn(
  journal: DatabaseSync,
  index: DatabaseSync | undefined,
  search: DatabaseSync | undefined,
): Whole["strays"] {
  const inEach: Readonly<
    Record<Kept, (right: UnpackedContent) => AsyncIterable<Stray> | Iterable<Stray>>
  > = {
    journal: (right) => allJournalStrays(journal, right),
    index: () => (index === undefined ? [] : indexStrays(index, journal)),
    search: () => (search === undefined ? [] : searchStrays(search, journal)),
  }
  return (of, right = { frames: [], disclosures: [] }) => Array.fromAsync(inEach[of](right))
}

async function* allJournalStrays(
  journal: DatabaseSync,
  right: UnpackedContent,
): AsyncGenerator<Stray> {
  yield* journalStrays(journal, new Set(right.disclosures))
  const numberOf = workspaceNumbers(journal)
  const listed = framesToCheck(journal, new Set(right.frames))
  const ids = journal.prepare("SELECT id FROM workspaces ORDER BY number").all()
  yield* frameStrays(
    {
      journal: readerOf(journalReads(journal)),
      frames: async (workspace, ...asked) => listed(numberOf(workspace) ?? -1, ...asked),
    },
    ids.map(({ id }) => String(id)),
  )
}

/** Lists all frames, and reads those that are not known to be right. */
function framesToCheck(
  journal: DatabaseSync,
  right: ReadonlySet<number>,
): (number: number, after: number, bytesMax: number) => readonly FrameToCheck[] {
  const listed = journal.prepare(
    "SELECT number, first, count FROM frames WHERE workspace = ? AND first > ? AND part = 0 ORDER BY first",
  )
  const frames = partReads(journal, "frames")
  return (number, after, bytesMax) => {
    const found: FrameToCheck[] = []
    let size = 0
    for (const row of listed.iterate(number, after)) {
      const [first, count] = [Number(row["first"]), Number(row["count"])]
      // A read takes no more entries for those of a frame, whatever the file counts.
      const isRight = count <= frameEntries && right.has(Number(row["number"]))
      const bytes = isRight ? undefined : frames.bytes(number, { first })
      size += bytes?.length ?? listedBytes
      if (size > bytesMax && found.length > 0) break
      found.push({ first, count, bytes })
    }
    return found
  }
}

/** The memory of a frame that is only listed, approximately. */
const listedBytes = 100

function segmentsIn(search: DatabaseSync | undefined): Pick<Whole, "segments" | "part"> {
  if (search === undefined) return { segments: async () => [], part: async () => undefined }
  const { list, part } = promised(segmentReads(search), "list", "part")
  return { segments: list, part }
}

function indexOf(index: DatabaseSync, journal: DatabaseSync): KeptIndex {
  const tiles = index.prepare(
    "SELECT level, tile, hashes FROM tiles WHERE workspace = ? ORDER BY level, tile",
  )
  return {
    ...promised(indexReads(index), "tree", "checkpoint", "tiles"),
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
    ...runChecks(index, journalReads(journal)),
  }
}
