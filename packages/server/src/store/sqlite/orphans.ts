// Finds rows of the three files that belong to no entry, and entries that are counted but missing.
// Entries are numbered 1, 2, 3, … by `n` across all workspaces, so comparing ends and counts finds
// most of them; all rows are read only if these disagree.

import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import type { Stray } from "../whole-ledger.ts"
import { schemaOf, type Layout } from "./database.ts"
import { logName } from "./reads.ts"
import { buckets, runEntries } from "./key-runs.ts"
import { firstOf, gapsIn } from "../search/segment-plan.ts"
import { segmentReads } from "./sqlite-segments.ts"

type Row = Readonly<Record<string, unknown>>

const instance = "instance"
const known = "SELECT id FROM documents WHERE kind = 'workspace'"

const knownLogs = `SELECT id, json_array_length(value, '$.former') AS former FROM documents WHERE kind = 'workspace'`

/** The names of the trees of a workspace's epochs. */
function logNames(row: Row): readonly string[] {
  return Array.from({ length: num(row["former"]) + 1 }, (_, former) =>
    logName(String(row["id"]), former + 1),
  )
}

/** Entries that are in no chain, and rows that belong to no entry. */
export function* journalStrays(journal: DatabaseSync): Generator<Stray> {
  yield* schemaStrays(journal, "journal")
  for (const number of entryWorkspaces(journal)) {
    const row = one(journal, "SELECT id FROM workspaces WHERE number = ?", number)
    const workspace = row === undefined ? undefined : String(row["id"])
    const at = workspace === undefined ? {} : { workspace }
    if (workspace === undefined)
      yield {
        what: `journal.db has entries of a workspace with the number ${number}, but no such workspace`,
      }
    const before = one(
      journal,
      "SELECT sequence FROM recorded WHERE workspace = ? AND sequence < 1 ORDER BY sequence LIMIT 1",
      number,
    )
    if (before !== undefined)
      yield {
        ...at,
        what: `there is an entry ${num(before["sequence"])}, but the first entry is 1`,
      }
  }
  const part = one(
    journal,
    `SELECT first, part FROM frames f WHERE workspace NOT IN (SELECT number FROM workspaces)
       OR (part <> 0 AND NOT EXISTS (SELECT 1 FROM frames p
         WHERE (p.workspace, p.first, p.part) = (f.workspace, f.first, f.part - 1))) LIMIT 1`,
  )
  if (part !== undefined)
    yield {
      what: `journal.db has part ${num(part["part"])} of a frame that begins with entry ${num(part["first"])}, but not what is before it`,
    }
  const { count, first, last } =
    one(
      journal,
      `SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM settled) AS count,
              (SELECT min(n) FROM recorded) AS first, (SELECT max(n) FROM recorded) AS last`,
    ) ?? {}
  const isWhole = count === 0 || (first === 1 && last === count)
  if (!isWhole) yield numberGap(journal)
  const document = one(
    journal,
    `SELECT kind, id, workspace FROM documents WHERE workspace <> ? AND workspace NOT IN (${known}) ORDER BY serial LIMIT 1`,
    instance,
  )
  if (document !== undefined) {
    const { kind, id, workspace } = document
    yield {
      workspace: String(workspace),
      what: `the registry has the ${String(kind)} ${String(id)} of it, but no such workspace`,
    }
  }
}

/** One seek for each, because there may be a hundred million entries. */
function* entryWorkspaces(journal: DatabaseSync): Generator<number> {
  const next = journal.prepare("SELECT min(workspace) AS number FROM recorded WHERE workspace > ?")
  for (let number = Number.MIN_SAFE_INTEGER; ;) {
    const found = next.get(number)?.["number"]
    if (typeof found !== "number") return
    yield found
    number = found
  }
}

/**
 * The index of keys is filled by these numbers: behind a gap it would be wrong, or never filled.
 */
function numberGap(journal: DatabaseSync): Stray {
  const row = one(
    journal,
    `SELECT e.n, e.sequence, w.id FROM recorded e LEFT JOIN workspaces w ON w.number = e.workspace
     WHERE e.n < 1 OR (e.n > 1 AND NOT EXISTS (SELECT 1 FROM recorded p WHERE p.n = e.n - 1)) ORDER BY e.n LIMIT 1`,
  )
  const { n, sequence, id } = row ?? {}
  return {
    ...(typeof id === "string" ? { workspace: id, sequence: num(sequence) } : {}),
    what: `its row in journal.db has the number ${num(n)}, and no row has the number before that`,
  }
}

/** Derived rows of no workspace, and parts of the index of keys that differ from the entries. */
export function* indexStrays(index: DatabaseSync, journal: DatabaseSync): Generator<Stray> {
  yield* schemaStrays(index, "index")
  const names = new Set(journal.prepare(knownLogs).all().flatMap(logNames))
  for (const table of ["positions", "trees", "tiles", "checkpoints"] as const)
    for (const row of index.prepare(`SELECT DISTINCT workspace FROM ${table}`).iterate()) {
      const workspace = String(row["workspace"])
      if (!names.has(workspace))
        yield {
          workspace,
          what: `index.db has ${table} of it, but the registry has no such workspace`,
        }
    }
  const entries = num(one(journal, "SELECT max(n) AS n FROM entries")?.["n"])
  const runs = index
    .prepare("SELECT run FROM runs ORDER BY run")
    .all()
    .map((row) => num(row["run"]))
  for (const [place, run] of runs.entries()) {
    if (run !== place) {
      yield {
        what: `part ${place} of the index of keys and receipts in index.db is missing, and part ${run} is there`,
      }
      break
    }
    if ((run + 1) * runEntries > entries) {
      yield {
        what: `part ${run} of the index of keys and receipts in index.db is complete, but its entries are missing`,
      }
      break
    }
  }
  const stray = one(
    index,
    `SELECT run, bucket FROM buckets WHERE run NOT IN (SELECT run FROM runs) OR bucket < 0 OR bucket >= ${buckets} ORDER BY run, bucket LIMIT 1`,
  )
  if (stray !== undefined)
    yield {
      what: `bucket ${num(stray["bucket"])} of part ${num(stray["run"])} of the index of keys and receipts in index.db is in no complete part`,
    }
}

/**
 * Segments of no workspace, and segments with a gap before them. Their contents are made again and
 * compared in operator/fsck/segment-check.ts.
 */
export function* searchStrays(search: DatabaseSync, journal: DatabaseSync): Generator<Stray> {
  yield* schemaStrays(search, "search")
  const ids = new Set(
    journal
      .prepare(known)
      .all()
      .map((row) => String(row["id"])),
  )
  const reads = segmentReads(search)
  for (const workspace of reads.workspaces()) {
    if (!ids.has(workspace))
      yield {
        workspace,
        what: "search.db has segments of it, but the registry has no such workspace",
      }
    for (const { segment, position } of gapsIn(reads.list(workspace)))
      yield {
        workspace,
        sequence: firstOf(segment),
        what: `segment ${segment.k} of level ${segment.level} in search.db does not follow the previous one, which ends with entry ${position}`,
      }
  }
  for (const table of ["segments", "parts"] as const) {
    const owner =
      table === "segments"
        ? "SELECT 1 FROM workspaces o WHERE o.number = t.workspace"
        : "SELECT 1 FROM segments o WHERE (o.workspace, o.level, o.k) = (t.workspace, t.level, t.k)"
    const stray = one(search, `SELECT level, k FROM ${table} t WHERE NOT EXISTS (${owner}) LIMIT 1`)
    if (stray !== undefined)
      yield {
        what: `search.db has ${table} of a segment ${num(stray["k"])} of level ${num(stray["level"])} that it does not list`,
      }
  }
}

/** A foreign trigger could change what is written next, and a removed one defends nothing. */
function* schemaStrays(database: DatabaseSync, layout: Layout): Generator<Stray> {
  const { found, expected } = schemaOf(database, layout)
  for (const [name, sql] of expected)
    if (found.get(name) !== sql)
      yield { what: `${layout}.db does not have ${name} as this program made it` }
  for (const name of found.keys())
    if (!expected.has(name))
      yield { what: `${layout}.db has ${name}, which this program did not make` }
}

function one(
  database: DatabaseSync,
  statement: string,
  ...values: SQLInputValue[]
): Row | undefined {
  return database.prepare(statement).get(...values)
}

function num(value: unknown): number {
  return Number(value ?? 0)
}
