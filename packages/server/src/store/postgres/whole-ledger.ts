// The whole database, for a program that rebuilds all derived data.

import { frameStrays, type FramedJournal } from "../frame-strays.ts"
import type { SegmentRow } from "../search/segments.ts"
import type { KeptIndex, RepeatedName, Stray, Whole } from "../whole-ledger.ts"
import { openLedger, openLedgerAlone } from "./alone.ts"
import { bytes, type Queries } from "./connection.ts"
import { framesBehind } from "./frame-reads.ts"
import { indexStrays, journalStrays, searchStrays, type PartNames } from "./orphans.ts"
import { segmentReads } from "./postgres-segments.ts"
import { indexReads, journalReads } from "./reads.ts"
import { registryOf } from "./registry.ts"

const entriesAtMost = "SELECT coalesce(sum(sequence), 0)::bigint FROM tallystick.heads"
/** One index seek for each workspace, because there may be a hundred million entries. */
const nextWorkspace = "SELECT min(workspace_id) FROM tallystick.entries WHERE workspace_id > $1"
const lastSequence = "SELECT max(sequence) FROM tallystick.entries WHERE workspace_id = $1"
const repeatedIn = (column: "receipt" | "idem") => `
  SELECT max(sequence) FROM tallystick.entries
  WHERE workspace_id = $1 AND ${column} IS NOT NULL
  GROUP BY ${column} HAVING count(*) > 1 ORDER BY 1 LIMIT 1`
const repeated = [
  ["receipt", repeatedIn("receipt")],
  ["idem", repeatedIn("idem")],
] as const
const tilesPerRead = 256
const tilesAfter = `SELECT level, tile, hashes FROM tallystick.tiles
  WHERE workspace_id = $1 AND epoch = $2 AND (level, tile) > ($3::integer, $4::bigint)
  ORDER BY level, tile LIMIT ${tilesPerRead}`
const segmentRows =
  "SELECT level, k, last_record FROM tallystick.segments WHERE workspace_id = $1 AND hash <> ''"

const names: PartNames = { journal: "the journal", index: "the index", search: "the search" }

/** Some megabytes at most. A query takes as long as hashing a hundred entries. */
const entriesPerRead = 1024

/** With `alone`, no service may run meanwhile. Otherwise it reads a snapshot of this moment. */
export async function openPostgresWhole(
  url: string,
  { alone }: { readonly alone: boolean },
): Promise<Whole> {
  const tool = await (alone ? openLedgerAlone : openLedger)(url, { still: true })
  const parts = segmentReads(tool)
  const workspaces = () => workspacesWithEntries(tool)
  const segments = (workspace: string) => tiedSegments(tool, workspace)
  const strays = {
    journal: () => allJournalStrays(tool, workspaces),
    index: () => indexStrays(tool, names),
    search: () => searchStrays(tool, names, segments),
  }
  return {
    journal: journalReads(tool),
    registry: registryOf(tool),
    entriesPerRead,
    isCopy: false,
    names,
    index: indexOf(tool),
    workspaces,
    count: async () => Number((await tool.rows(entriesAtMost))[0]?.[0]),
    last: async (workspace) => Number((await tool.rows(lastSequence, [workspace]))[0]?.[0] ?? 0),
    repeated: (of) => repeatedNames(tool, of),
    unpacked: () => ({ frames: [], disclosures: [] }),
    strays: (of) => Array.fromAsync(strays[of]()),
    segments,
    part: (...asked) => parts.part(...asked),
    close: () => tool.close(),
  }
}

async function* allJournalStrays(
  tool: Queries,
  workspaces: () => Promise<readonly string[]>,
): AsyncGenerator<Stray> {
  yield* journalStrays(tool, names, workspaces)
  const frames: FramedJournal["frames"] = (...asked) => framesBehind(tool, ...asked)
  yield* frameStrays({ journal: journalReads(tool), frames }, await workspaces())
}

async function workspacesWithEntries({ rows }: Queries): Promise<readonly string[]> {
  const found: string[] = []
  for (;;) {
    const [row] = await rows(nextWorkspace, [found.at(-1) ?? ""])
    if (typeof row?.[0] !== "string") return found
    found.push(row[0])
  }
}

async function repeatedNames(
  { rows }: Queries,
  workspaces: readonly string[],
): Promise<readonly RepeatedName[]> {
  const found: RepeatedName[] = []
  for (const workspace of workspaces)
    for (const [what, statement] of repeated) {
      const [row] = await rows(statement, [workspace])
      if (row !== undefined) found.push({ workspace, what, sequence: Number(row[0]) })
    }
  return found
}

async function tiedSegments(database: Queries, workspace: string): Promise<readonly SegmentRow[]> {
  const rows = await database.rows(segmentRows, [workspace])
  const lastRecords = new Map(
    rows.map(([level, k, record]) => [`${Number(level)}/${Number(k)}`, bytes(record)]),
  )
  return (await segmentReads(database).list(workspace)).map((segment) => ({
    ...segment,
    lastRecord: lastRecords.get(`${segment.level}/${segment.k}`) ?? new Uint8Array(),
  }))
}

function indexOf(database: Queries): KeptIndex {
  return {
    ...indexReads(database),
    async *allTiles(workspace, epoch) {
      for (let last: readonly unknown[] = [-1, -1]; ;) {
        const rows = await database.rows(tilesAfter, [workspace, epoch, ...last])
        for (const [level, tile, hashes] of rows)
          yield { level: Number(level), tile: Number(tile), hashes: bytes(hashes) }
        if (rows.length < tilesPerRead) return
        last = rows.at(-1)?.slice(0, 2) ?? []
      }
    },
    // The database has its own index of keys and receipts.
    runs: async () => [],
    keyed() {
      throw new Error("the database has its own index of keys")
    },
  }
}
