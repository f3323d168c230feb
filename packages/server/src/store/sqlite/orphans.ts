// Finds orphan rows in the three files, and entries that are counted but missing. Entries are
// numbered 1, 2, 3, … by `n` across all workspaces, so comparing ends and counts finds most of
// them. All rows are read only if these disagree.

import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import { frameEntries } from "../body-frame.ts"
import type { Stray } from "../whole-ledger.ts"
import { formerLayout, schemaOf, versionOf, type Layout } from "./database.ts"
import { partReads, type PartTable } from "./part-tables.ts"
import { logName } from "./reads.ts"
import { faultOfSealed } from "./stretch-format.ts"
import { buckets, runEntries } from "./key-runs.ts"
import { segmentStrays } from "../search/segment-plan.ts"
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

/** Entries that are in no chain, orphan rows, and disclosures that are wrong. */
export function* journalStrays(
  journal: DatabaseSync,
  rightDisclosures: ReadonlySet<number>,
): Generator<Stray> {
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
      `SELECT min(sequence) AS sequence FROM (SELECT min(sequence) AS sequence FROM entries WHERE workspace = ?1
         UNION ALL SELECT min(first) FROM stretches WHERE workspace = ?1)`,
      number,
    )
    if (num(before?.["sequence"] ?? 1) < 1)
      yield {
        ...at,
        what: `there is an entry ${num(before?.["sequence"])}, but the first entry is 1`,
      }
  }
  for (const table of ["stretches", "disclosures", "frames"] as const)
    yield* partStrays(journal, table)
  yield* disclosureStrays(journal, rightDisclosures)
  yield* placeStrays(journal)
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

/** One index seek for each workspace, because there may be a hundred million entries. */
function* entryWorkspaces(journal: DatabaseSync): Generator<number> {
  const next = journal.prepare(
    `SELECT min(number) AS number FROM (SELECT min(workspace) AS number FROM entries WHERE workspace > ?1
       UNION ALL SELECT min(workspace) FROM stretches WHERE workspace > ?1)`,
  )
  for (let number = Number.MIN_SAFE_INTEGER; ;) {
    const found = next.get(number)?.["number"]
    if (typeof found !== "number") return
    yield found
    number = found
  }
}

const nameOf = { stretches: "stretch", disclosures: "stretch of disclosures", frames: "frame" }

/** Parts whose preceding part is missing, and byte strings whose entries overlap. */
function* partStrays(journal: DatabaseSync, table: PartTable): Generator<Stray> {
  const part = one(
    journal,
    `SELECT first, part FROM ${table} f WHERE workspace NOT IN (SELECT number FROM workspaces)
       OR (part <> 0 AND NOT EXISTS (SELECT 1 FROM ${table} p
         WHERE (p.workspace, p.first, p.part) = (f.workspace, f.first, f.part - 1))) LIMIT 1`,
  )
  if (part !== undefined)
    yield {
      what: `journal.db has part ${num(part["part"])} of a ${nameOf[table]} that begins with entry ${num(part["first"])}, but not what is before it`,
    }
  if (table === "frames") return
  // Whether a frame matches its entries is checked where it is unpacked.
  const over = one(
    journal,
    `SELECT s.first, w.id FROM ${table} s JOIN workspaces w ON w.number = s.workspace WHERE s.part = 0
       AND (s.count NOT BETWEEN 1 AND ${frameEntries}
         OR EXISTS (SELECT 1 FROM entries e WHERE e.workspace = s.workspace AND e.sequence >= s.first AND e.sequence < s.first + s.count)
         OR EXISTS (SELECT 1 FROM ${table} o WHERE o.workspace = s.workspace AND o.first > s.first AND o.first < s.first + s.count))
     LIMIT 1`,
  )
  if (over !== undefined)
    yield {
      workspace: String(over["id"]),
      sequence: num(over["first"]),
      what: `the ${nameOf[table]} that begins with entry ${num(over["first"])} has entries that are somewhere else as well`,
    }
}

/** Disclosures that cannot be unpacked, or whose entries are not those of a stretch. */
function* disclosureStrays(journal: DatabaseSync, right: ReadonlySet<number>): Generator<Stray> {
  const disclosures = partReads(journal, "disclosures")
  const all = journal.prepare(
    `SELECT d.number, d.workspace, d.first, d.count, w.id, s.count AS entries
     FROM disclosures d JOIN workspaces w ON w.number = d.workspace
     LEFT JOIN stretches s ON (s.workspace, s.first, s.part) = (d.workspace, d.first, 0)
     WHERE d.part = 0 ORDER BY d.number`,
  )
  for (const { number, workspace, first, count, id, entries } of all.iterate()) {
    if (count === entries && right.has(num(number))) continue
    const fault =
      count === entries
        ? disclosures.made(num(workspace), { first: num(first) }, (bytes) =>
            faultOfSealed(bytes, num(count)),
          )
        : "are of other entries than those of a stretch"
    if (fault !== undefined)
      yield {
        workspace: String(id),
        sequence: num(first),
        what: `the disclosures of the stretch that begins with entry ${num(first)} ${fault}`,
      }
  }
}

/**
 * Entries are numbered without a gap, in rows and in stretches: the index of keys is filled by
 * these numbers, and after a gap it would be wrong, or never filled.
 */
function* placeStrays(journal: DatabaseSync): Generator<Stray> {
  const { rows, packed, placed, first, last } =
    one(
      journal,
      `SELECT (SELECT count(*) FROM entries) AS rows, (SELECT total(count) FROM stretches WHERE part = 0) AS packed,
              (SELECT total(count) FROM places) AS placed,
              (SELECT min(n) FROM (SELECT min(n) AS n FROM entries UNION ALL SELECT min(n) FROM places)) AS first,
              (SELECT max(n) FROM (SELECT max(n) AS n FROM entries UNION ALL SELECT max(n + count - 1) FROM places)) AS last`,
    ) ?? {}
  const count = num(rows) + num(placed)
  if (count > 0 && (first !== 1 || last !== count)) yield numberGap(journal)
  // If the counts are equal, no entry is counted twice, and each is in a stretch, then every
  // stretch is complete.
  const place = one(
    journal,
    `SELECT p.n, p.sequence, w.id FROM (SELECT *, lag(sequence + count, 1, 1) OVER (PARTITION BY workspace ORDER BY n) AS least FROM places) p
     LEFT JOIN workspaces w ON w.number = p.workspace
     WHERE p.sequence < p.least OR p.count < 1 OR NOT EXISTS (SELECT 1 FROM stretches s WHERE s.workspace = p.workspace AND s.part = 0
       AND s.first = (SELECT max(first) FROM stretches WHERE workspace = p.workspace AND first <= p.sequence)
       AND p.sequence + p.count <= s.first + s.count) ORDER BY p.n LIMIT 1`,
  )
  if (place !== undefined)
    yield {
      ...(typeof place["id"] === "string" && {
        workspace: place["id"],
        sequence: num(place["sequence"]),
      }),
      what: `journal.db counts it as number ${num(place["n"])}, but no stretch has it there`,
    }
  else if (packed !== placed)
    yield {
      what: `journal.db has ${num(packed)} entries in stretches, and counts ${num(placed)} of them`,
    }
}

function numberGap(journal: DatabaseSync): Stray {
  const row = one(
    journal,
    `SELECT c.n, c.sequence, w.id FROM (
       SELECT *, lag(n + count, 1, 1) OVER (ORDER BY n) AS least FROM
         (SELECT n, workspace, sequence, 1 AS count FROM entries UNION ALL SELECT n, workspace, sequence, count FROM places)
     ) c LEFT JOIN workspaces w ON w.number = c.workspace WHERE c.n <> c.least ORDER BY c.n LIMIT 1`,
  )
  const { n, sequence, id } = row ?? {}
  return {
    ...(typeof id === "string" ? { workspace: id, sequence: num(sequence) } : {}),
    what: `its row in journal.db has the number ${num(n)}, and no row has the number before that`,
  }
}

/**
 * Derived rows without a workspace, and parts of the index of keys that differ from the entries.
 */
export function* indexStrays(index: DatabaseSync, journal: DatabaseSync): Generator<Stray> {
  yield* schemaStrays(index, "index")
  const names = new Set(journal.prepare(knownLogs).all().flatMap(logNames))
  for (const table of ["trees", "tiles", "checkpoints"] as const)
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
 * Segments without a workspace, after a gap, or without a hash. Their contents are compared
 * with the entries in operator/fsck/segment-check.ts.
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
    yield* segmentStrays(workspace, reads.list(workspace), reads.unlisted(workspace), "search.db")
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

/** A foreign trigger could change later writes, and a removed one no longer protects the data. */
function* schemaStrays(database: DatabaseSync, layout: Layout): Generator<Stray> {
  // No script makes the former layout. The next start copies its rows alone.
  if (layout === "journal" && versionOf(database) === formerLayout) return
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
