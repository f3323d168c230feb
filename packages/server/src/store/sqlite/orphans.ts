// What lies in the three files and belongs to no entry, or is counted as there and is not. Entries
// are numbered 1, 2, 3, … by `n`, whatever their workspace, so most of it is seen by comparing ends
// and counts; only where those do not agree is everything looked through.

import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import { schemaOf, type Layout } from "./database.ts"
import { logName } from "./reads.ts"
import { buckets, runEntries } from "./key-runs.ts"
import { anyProject } from "./search-counters.ts"
import { blockSequences, hourMs, placeOf, sequenceOf } from "./search-places.ts"

/**
 * Something that is kept and belongs to nothing, or is not there though it is counted; of an entry,
 * if it is one's.
 */
export interface Stray {
  readonly workspace?: string
  readonly sequence?: number
  readonly what: string
}

type Row = Readonly<Record<string, unknown>>

const instance = "instance"
const known = "SELECT id FROM documents WHERE kind = 'workspace'"

const knownLogs = `SELECT id, json_array_length(value, '$.former') AS former FROM documents WHERE kind = 'workspace'`

/** Under which the trees of a workspace's epochs are found. */
function logNames(row: Row): readonly string[] {
  return Array.from({ length: num(row["former"]) + 1 }, (_, former) =>
    logName(String(row["id"]), former + 1),
  )
}

/** Entries that no chain leads to, and what no entry leads to. */
export function* journalStrays(journal: DatabaseSync): Generator<Stray> {
  yield* schemaStrays(journal, "journal")
  for (const number of entryWorkspaces(journal)) {
    const row = one(journal, "SELECT id FROM workspaces WHERE number = ?", number)
    const workspace = row === undefined ? undefined : String(row["id"])
    const at = workspace === undefined ? {} : { workspace }
    if (workspace === undefined)
      yield {
        what: `there are entries of a workspace ${number}, and the journal has no workspace of that number`,
      }
    const before = one(
      journal,
      "SELECT sequence FROM entries WHERE workspace = ? AND sequence < 1 ORDER BY sequence LIMIT 1",
      number,
    )
    if (before !== undefined)
      yield { ...at, what: `there is an entry ${num(before["sequence"])}, and the first is 1` }
  }
  const { count, first, last } =
    one(journal, "SELECT count(*) AS count, min(n) AS first, max(n) AS last FROM entries") ?? {}
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
      what: `the registry has its ${String(kind)} ${String(id)}, and does not know the workspace`,
    }
  }
}

/** By one seek for each: there may be a hundred million entries. */
function* entryWorkspaces(journal: DatabaseSync): Generator<number> {
  const next = journal.prepare("SELECT min(workspace) AS number FROM entries WHERE workspace > ?")
  for (let number = Number.MIN_SAFE_INTEGER; ;) {
    const found = next.get(number)?.["number"]
    if (typeof found !== "number") return
    yield found
    number = found
  }
}

/**
 * Keys and receipts are looked up by these numbers: behind a gap the index would be filled wrongly,
 * or never.
 */
function numberGap(journal: DatabaseSync): Stray {
  const row = one(
    journal,
    `SELECT e.n, e.sequence, w.id FROM entries e LEFT JOIN workspaces w ON w.number = e.workspace
     WHERE e.n < 1 OR (e.n > 1 AND NOT EXISTS (SELECT 1 FROM entries p WHERE p.n = e.n - 1)) ORDER BY e.n LIMIT 1`,
  )
  const { n, sequence, id } = row ?? {}
  return {
    ...(typeof id === "string" ? { workspace: id, sequence: num(sequence) } : {}),
    what: `it has the number ${num(n)} among all that are kept, and none has the number before it`,
  }
}

/**
 * Rows of what is derived that belong to no workspace, and parts of the index of keys that are not
 * those of the entries.
 */
export function* indexStrays(index: DatabaseSync, journal: DatabaseSync): Generator<Stray> {
  yield* schemaStrays(index, "index")
  const names = new Set(journal.prepare(knownLogs).all().flatMap(logNames))
  for (const table of ["positions", "trees", "tiles", "checkpoints"] as const)
    for (const row of index.prepare(`SELECT DISTINCT workspace FROM ${table}`).iterate()) {
      const workspace = String(row["workspace"])
      if (!names.has(workspace))
        yield { workspace, what: `the index has ${table} of it, and the registry does not know it` }
    }
  const entries = num(one(journal, "SELECT max(n) AS n FROM entries")?.["n"])
  const runs = index
    .prepare("SELECT run FROM runs ORDER BY run")
    .all()
    .map((row) => num(row["run"]))
  for (const [place, run] of runs.entries()) {
    if (run !== place) {
      yield {
        what: `part ${place} of the index of keys and receipts is not there, and part ${run} is`,
      }
      break
    }
    if ((run + 1) * runEntries > entries) {
      yield {
        what: `part ${run} of the index of keys and receipts is said to be complete, and the entries for it are not there`,
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
      what: `bucket ${num(stray["bucket"])} of part ${num(stray["run"])} of the index of keys and receipts belongs to no part`,
    }
}

/**
 * The search file's counters against its own rows, and these against the entries. What the rows
 * say, `reindex` derives again.
 */
export function* searchStrays(search: DatabaseSync, journal: DatabaseSync): Generator<Stray> {
  yield* schemaStrays(search, "search")
  const ids = new Set(
    journal
      .prepare(known)
      .all()
      .map((row) => String(row["id"])),
  )
  let filed = 0
  for (const row of search
    .prepare("SELECT number, id, position FROM workspaces ORDER BY number")
    .all()) {
    const workspace = String(row["id"])
    const [number, position] = [num(row["number"]), num(row["position"])]
    if (!ids.has(workspace))
      yield { workspace, what: "the search has entries of it, and the registry does not know it" }
    const between = [placeOf(number, 0), placeOf(number + 1, 0) - 1] as const
    const found = one(
      search,
      "SELECT count(*) AS count, min(place) AS first, max(place) AS last FROM filed WHERE place BETWEEN ? AND ?",
      ...between,
    )
    const { count, first, last } = found ?? {}
    filed += num(count)
    if (
      num(count) === position &&
      (position === 0 || (first === placeOf(number, 1) && last === placeOf(number, position)))
    )
      continue
    yield {
      workspace,
      sequence: filedGap(search, number),
      what: `by the search, the first ${position} are filed, and this is the first that is not`,
    }
  }
  if (num(one(search, "SELECT count(*) AS count FROM filed")?.["count"]) !== filed)
    yield { what: "the search has rows of a workspace that it does not know" }
  yield* counterStrays(search)
}

/** The first that is not filed. */
function filedGap(search: DatabaseSync, number: number): number {
  if (one(search, "SELECT place FROM filed WHERE place = ?", placeOf(number, 1)) === undefined)
    return 1
  const row = one(
    search,
    `SELECT place FROM filed f WHERE place BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM filed o WHERE o.place = f.place + 1) ORDER BY place LIMIT 1`,
    placeOf(number, 0),
    placeOf(number + 1, 0) - 1,
  )
  return row === undefined ? 1 : sequenceOf(num(row["place"])) + 1
}

/** Each counter, by the rows that it counts. */
function* counterStrays(search: DatabaseSync): Generator<Stray> {
  const countedBy = (column: "combination" | "class") => ({
    combination: search.prepare(
      `SELECT count(*) AS count, min(place) AS first, max(place) AS last FROM filed WHERE ${column} = ?`,
    ),
    hour: search.prepare(
      `SELECT count(*) AS count, min(place) AS first, max(place) AS last FROM filed
       WHERE ${column} = ? AND occurred_ms >= ? AND occurred_ms < ?`,
    ),
    block: search.prepare(
      `SELECT count(*) AS count FROM filed WHERE ${column} = ? AND place >= ? AND place < ?`,
    ),
  })
  const [ofProject, ofAll] = [countedBy("combination"), countedBy("class")]
  const hours = search.prepare(
    "SELECT hour, entries, first_sequence, last_sequence FROM hours WHERE combination = ? ORDER BY hour",
  )
  const blocks = search.prepare(
    "SELECT block, before FROM blocks WHERE combination = ? ORDER BY block",
  )
  const stray = (workspace: unknown, what: string): Stray => ({
    ...(typeof workspace === "string" ? { workspace } : {}),
    what: `the search has another count of ${what} than it has rows`,
  })
  for (const row of search
    .prepare(
      "SELECT c.*, w.id FROM combinations c LEFT JOIN workspaces w ON w.number = c.workspace",
    )
    .all()) {
    const combination = num(row["number"])
    const counted = row["project"] === anyProject ? ofAll : ofProject
    if (!isCounted(row, counted.combination.get(combination)))
      yield stray(row["id"], `combination ${combination}`)
    let inHours = 0
    for (const hour of hours.all(combination)) {
      const from = num(hour["hour"]) * hourMs
      inHours += num(hour["entries"])
      if (!isCounted(hour, counted.hour.get(combination, from, from + hourMs)))
        yield stray(row["id"], `hour ${num(hour["hour"])}`)
    }
    if (inHours !== num(row["entries"]))
      yield stray(row["id"], `the hours of combination ${combination}`)
    let [before, from] = [0, placeOf(num(row["workspace"]), 0)]
    for (const block of blocks.all(combination)) {
      const start = placeOf(num(row["workspace"]), num(block["block"]) * blockSequences)
      before += num(counted.block.get(combination, from, start)?.["count"])
      from = start
      if (num(block["before"]) !== before) yield stray(row["id"], `block ${num(block["block"])}`)
    }
  }
  const { count } =
    one(
      search,
      `SELECT count(*) AS count FROM filed f WHERE NOT EXISTS (
         SELECT 1 FROM combinations c JOIN combinations a USING (workspace, lane, is_visible, is_system)
         WHERE c.number = f.combination AND a.number = f.class AND c.project <> ?1 AND a.project = ?1)`,
      anyProject,
    ) ?? {}
  if (num(count) > 0)
    yield { what: `the search has ${num(count)} rows whose combinations it does not know` }
}

function isCounted(row: Row, found: Row | undefined): boolean {
  if (num(row["entries"]) !== num(found?.["count"])) return false
  return (
    num(row["entries"]) === 0 ||
    [["first_sequence", "first"] as const, ["last_sequence", "last"] as const].every(
      ([said, is]) => num(row[said]) === sequenceOf(num(found?.[is])),
    )
  )
}

/**
 * A trigger that somebody put there would change what is written next, and one that somebody took
 * away defends nothing.
 */
function* schemaStrays(database: DatabaseSync, layout: Layout): Generator<Stray> {
  const { found, expected } = schemaOf(database, layout)
  for (const [name, sql] of expected)
    if (found.get(name) !== sql)
      yield { what: `the ${layout} file does not have ${name} as this program made it` }
  for (const name of found.keys())
    if (!expected.has(name))
      yield { what: `the ${layout} file has ${name}, which this program did not make` }
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
