// All reads of the journal and the index, one statement for each question. The reader's thread and
// the watching program share them.

import type { DatabaseSync, StatementSync } from "node:sqlite"
import { bodyTag, eventHash, parseJson, parseRecord, recordBytes } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import type { CredentialDocumentKind, Documents, DocumentKind } from "../documents.ts"
import type {
  CredentialUse,
  Audit,
  Checkpoint,
  Document,
  Head,
  JournalReader,
  ListPlace,
  Stored,
  TileName,
  Tree,
} from "../store.ts"
import { withBodies, type LinkedRows } from "../linked-rows.ts"
import { upToBytes } from "../entries.ts"
import { atMost } from "./database.ts"
import { frameReads, type FrameReads } from "./frame-reads.ts"
import { parseAudit, splitHashes } from "../index-rows.ts"
import { bytes, joinedReads, storedColumns, storedOf } from "./joined-entries.ts"
import { bucketOf, findInBucket } from "./key-runs.ts"
import { idemBytes, idemOf, receiptBytes, receiptOf } from "./packed-text.ts"

type Row = Readonly<Record<string, unknown>>

/** Entries are read by number, but a thousand of the largest would be a quarter of a gigabyte. */
const afterBytesMax = 8 * 1024 * 1024

/** Reads of the journal. Statements are made once; a workspace's number never changes. */
export function journalReads(journal: DatabaseSync) {
  const numberOf = workspaceNumbers(journal)
  const lastOf = journal.prepare(
    "SELECT sequence, record FROM entries WHERE workspace = ? ORDER BY sequence DESC LIMIT 1",
  )
  const frames = frameReads(journal)
  const one = journal.prepare(`SELECT ${storedColumns} WHERE workspace = ? AND sequence = ?`)
  const joined = joinedReads(journal, frames)
  const linked = linkedReads(journal, frames)
  const record = journal.prepare("SELECT record FROM recorded WHERE workspace = ? AND sequence = ?")
  const recordsFrom = recordReads(journal)

  return {
    head(workspace: string): Head | undefined {
      const number = numberOf(workspace)
      const row = number === undefined ? undefined : lastOf.get(number)
      return row === undefined ? undefined : headOf(row)
    },
    at(
      workspace: string,
      sequences: readonly number[],
      bytesMax = Number.POSITIVE_INFINITY,
    ): (Stored | undefined)[] {
      const number = numberOf(workspace)
      if (number === undefined) return sequences.map(() => undefined)
      const framed = frames(number)
      const read = (sequence: number): Stored | undefined => {
        const row = one.get(number, sequence)
        return row === undefined ? undefined : storedOf(workspace, row, framed)
      }
      return [...upToBytes(sequences.values().map(read), bytesMax)]
    },
    after(workspace: string, after: number, limit: number): Stored[] {
      const number = numberOf(workspace)
      return number === undefined
        ? []
        : joined({ workspace, number, after, limit, bytesMax: afterBytesMax })
    },
    linked(workspace: string, sequence: number, limit: number): LinkedRows[] {
      const number = numberOf(workspace)
      const pieces: LinkedRows[] = []
      if (number === undefined) return pieces
      let [after, left, bytes] = [sequence, limit, 0]
      while (left > 0 && bytes < afterBytesMax) {
        const rows = linked(number, after, Math.min(left, entriesPerPiece))
        const last = rows.sequences.at(-1)
        if (last === undefined) break
        pieces.push(rows)
        after = last
        left -= rows.sequences.length
        bytes += rows.bodies.length
        if (rows.sequences.length < entriesPerPiece) break
      }
      return pieces
    },
    records(workspace: string, sequence: number, count: number): Uint8Array {
      const number = numberOf(workspace)
      return number === undefined ? new Uint8Array() : recordsFrom(number, sequence, count)
    },
    recordsAt(workspace: string, sequences: readonly number[]): (Uint8Array | undefined)[] {
      const number = numberOf(workspace)
      return sequences.map((sequence) => {
        const row = number === undefined ? undefined : record.get(number, sequence)
        return row === undefined ? undefined : bytes(row["record"])
      })
    },
    ...placeReads(journal),
  }
}

/** The fastest of 32, 64, 128 and 256. Of the largest entries it is 16 MiB. */
const entriesPerPiece = 64

/**
 * One of several entries as one row. As rows of their own they would cost as much as their hashes.
 */
function linkedReads(
  journal: DatabaseSync,
  frames: FrameReads,
): (number: number, after: number, limit: number) => LinkedRows {
  // In order by the subquery; whoever checks the chain sees whether they are. Between two texts
  // stands what each begins with, as it is hashed.
  const joined = journal.prepare(
    `SELECT '[' || group_concat(sequence) || ']', CAST(x'00' || group_concat(record, x'00') AS BLOB),
            '[' || group_concat(ifnull(length(salted) + ${bodyTag.length}, 0)) || ']',
            CAST('${bodyTag}' || group_concat(salted, '${bodyTag}') AS BLOB)
     FROM (SELECT sequence, CASE length(record) WHEN ${recordBytes} THEN record ELSE zeroblob(${recordBytes}) END AS record, salted
           FROM recorded WHERE workspace = ? AND sequence > ? ORDER BY sequence ${atMost})`,
  )
  joined.setReturnArrays(true)
  return (number, after, limit) => {
    // As the statement selects them; nothing is joined of no rows.
    const [sequences, leaves, lengths, bodies] = joined.get(
      number,
      after,
      limit,
    ) as unknown as readonly [string | null, Uint8Array | null, string | null, Uint8Array | null]
    return withBodies(frames(number), {
      sequences: integersOf(sequences),
      leaves: leaves ?? new Uint8Array(),
      lengths: integersOf(lengths),
      bodies: bodies ?? new Uint8Array(),
    })
  }
}

/** The records from a sequence on, up to a hole. */
function recordReads(
  journal: DatabaseSync,
): (number: number, first: number, count: number) => Uint8Array {
  const following = `SELECT sequence, record FROM recorded WHERE workspace = ? AND sequence >= ? ORDER BY sequence ${atMost}`
  const oneByOne = journal.prepare(following)
  // As rows of their own they would take four times as long.
  const joined = journal.prepare(
    `SELECT max(sequence) - count(*) + 1, sum(length(record) <> ${recordBytes}), CAST(group_concat(record, '') AS BLOB)
     FROM (${following})`,
  )
  joined.setReturnArrays(true)
  return (number, first, count) => {
    // As the statement selects them; without a row there is nothing.
    const [from, others, records] = joined.get(number, first, count) as unknown as readonly [
      number | null,
      number | null,
      Uint8Array | null,
    ]
    if (records === null) return new Uint8Array()
    return from === first && others === 0
      ? records
      : joinRecords(oneByOne.all(number, first, count), first)
  }
}

function joinRecords(rows: readonly Row[], first: number): Uint8Array {
  const joined = new Uint8Array(rows.length * recordBytes)
  for (const [place, row] of rows.entries()) {
    const record = bytes(row["record"])
    // Bytes of another length are no record.
    if (Number(row["sequence"]) !== first + place || record.length !== recordBytes)
      return joined.slice(0, place * recordBytes)
    joined.set(record, place * recordBytes)
  }
  return joined
}

function integersOf(text: string | null): readonly number[] {
  // The statement joins integers.
  return text === null ? [] : (JSON.parse(text) as number[])
}

/** One of several parts that have this length. */
function part(bytes: Uint8Array, at: number, length: number): Uint8Array {
  return bytes.subarray(at * length, (at + 1) * length)
}

/** Reads by the count of entries across all workspaces. */
function placeReads(journal: DatabaseSync) {
  const placeColumns = "n, workspace, sequence, receipt, idem FROM recorded"
  const one = journal.prepare(`SELECT ${placeColumns} WHERE n = ?`)
  one.setReturnArrays(true)
  const lastN = journal.prepare("SELECT max(n) AS n FROM entries")
  const following = `SELECT ${placeColumns} WHERE n > ? ORDER BY n ${atMost}`
  const oneByOne = journal.prepare(following)
  oneByOne.setReturnArrays(true)
  // Where all are bytes, which have one length each: as rows they cost more than what is made of
  // them. A receipt or a key that is not, as of an older version, is one of the `others`.
  const joined = journal.prepare(
    `SELECT count(*), sum(typeof(receipt) <> 'blob' OR length(receipt) <> ${receiptBytes}
              OR typeof(idem) = 'text' OR length(idem) <> ${idemBytes}),
            '[' || group_concat(n || ',' || workspace || ',' || sequence || ',' || (idem IS NULL)) || ']',
            CAST(group_concat(receipt, '') AS BLOB),
            CAST(group_concat(ifnull(idem, zeroblob(${idemBytes})), '') AS BLOB)
     FROM (${following})`,
  )
  joined.setReturnArrays(true)
  const idOf = workspaceIds(journal)
  const placeOf = ([n, number, sequence, receipt, idem]: PlaceColumns): Place => ({
    n,
    workspace: idOf(number),
    sequence,
    receipt: receiptOf(receipt),
    idem: idemOf(idem),
  })
  // As the statements select them, when they give lists.
  const columnsOf = (row: unknown): PlaceColumns => row as PlaceColumns

  return {
    /** The workspace and sequence of the n-th entry. */
    place(n: number): Place | undefined {
      const row = one.get(n)
      return row === undefined ? undefined : placeOf(columnsOf(row))
    },
    lastN: (): number => Number(lastN.get()?.["n"] ?? 0),
    /** Must be consumed at once: a run of them in memory is tens of megabytes. */
    *places(afterN: number, limit: number): Iterable<Place> {
      for (let [after, left] = [afterN, limit]; left > 0;) {
        const [count, others, text, receipts, keys] = joined.get(
          after,
          Math.min(left, entriesPerPiece),
        ) as unknown as JoinedPlaces
        if (count === 0) return
        // The statement joins integers, four for each.
        const numbers = JSON.parse(text) as number[]
        if (others > 0) yield* oneByOne.iterate(after, count).map(columnsOf).map(placeOf)
        else
          for (let at = 0; at < count; at++)
            yield {
              n: numbers[4 * at] ?? 0,
              workspace: idOf(numbers[4 * at + 1] ?? 0),
              sequence: numbers[4 * at + 2] ?? 0,
              receipt: receiptOf(part(receipts, at, receiptBytes)),
              idem: numbers[4 * at + 3] === 1 ? undefined : idemOf(part(keys, at, idemBytes)),
            }
        after = numbers.at(-4) ?? after
        left -= count
      }
    },
  }
}

type PlaceColumns = readonly [
  n: number,
  workspace: number,
  sequence: number,
  receipt: unknown,
  idem: unknown,
]

/** Without an entry, all but the count are null. */
type JoinedPlaces = readonly [
  count: number,
  others: number,
  numbers: string,
  receipts: Uint8Array,
  keys: Uint8Array,
]

export interface Place {
  readonly n: number
  /** Empty if the journal has no such workspace, which `fsck` finds. */
  readonly workspace: string
  readonly sequence: number
  readonly receipt: string
  readonly idem: string | undefined
}

/** The same behind the interface of every engine. */
export function readerOf(reads: ReturnType<typeof journalReads>): JournalReader {
  return {
    head: async (workspace) => reads.head(workspace),
    at: async (workspace, sequences, bytesMax) => reads.at(workspace, sequences, bytesMax),
    after: async (workspace, sequence, limit) => reads.after(workspace, sequence, limit),
    linked: async (workspace, sequence, limit) => reads.linked(workspace, sequence, limit),
    records: async (workspace, sequence, count) => reads.records(workspace, sequence, count),
    recordsAt: async (workspace, sequences) => reads.recordsAt(workspace, sequences),
  }
}

/** The bytes of documents in one answer: a hundred of the largest would be fifty megabytes. */
const listBytesMax = 1024 * 1024

const newest: ListPlace = { created: Number.MAX_SAFE_INTEGER, id: "" }

/** Reads of the registry's documents. */
export function documentReads(journal: DatabaseSync) {
  const columns = "created, kind, workspace, id, version, value FROM documents"
  const one = journal.prepare(`SELECT ${columns} WHERE kind = ? AND workspace = ? AND id = ?`)
  const byId = journal.prepare("SELECT workspace FROM documents WHERE kind = ? AND id = ? LIMIT 1")
  // A list leaves out the sequences of a pack, of which there may be ten thousand.
  const listedValue = `CASE kind WHEN 'pack' THEN
    json_set(json_remove(value, '$.sequences', '$.policies'), '$.receiptCount', json_array_length(value, '$.sequences')) ELSE value END AS value`
  const listed = `created, kind, workspace, id, version, ${listedValue} FROM documents`
  const behind = `(created, id) < (?, ?) ORDER BY created DESC, id DESC ${atMost}`
  const ofWorkspace = journal.prepare(
    `SELECT ${listed} WHERE kind = ? AND workspace = ? AND ${behind}`,
  )
  const ofAll = journal.prepare(`SELECT ${listed} WHERE kind = ? AND ${behind}`)
  const count = journal.prepare(
    "SELECT count(*) AS count FROM documents WHERE kind = ? AND workspace = ?",
  )
  return {
    get: (kind: DocumentKind, workspace: string, id: string) =>
      documentOf(one.get(kind, workspace, id)),
    workspaceOf: (kind: CredentialDocumentKind, id: string) =>
      optionalText(byId.get(kind, id)?.["workspace"]),
    list(
      kind: DocumentKind,
      workspace: string | undefined,
      { created, id }: ListPlace = newest,
      limit: number,
    ): Document[] {
      const rows =
        workspace === undefined
          ? ofAll.iterate(kind, created, id, limit)
          : ofWorkspace.iterate(kind, workspace, created, id, limit)
      const documents: Document[] = []
      let bytes = 0
      for (const row of rows) {
        bytes += String(row["value"]).length
        if (bytes > listBytesMax && documents.length > 0) break
        const document = documentOf(row)
        if (document !== undefined) documents.push(document)
      }
      return documents
    },
    count: (kind: DocumentKind, workspace: string): number =>
      Number(count.get(kind, workspace)?.["count"]),
  }
}

/**
 * The name of an epoch's tree. That of the first epoch is the workspace's id; those of the others
 * can be no workspace's id.
 */
export function logName(workspace: string, epoch: number): string {
  return epoch === 1 ? workspace : `${workspace}/${epoch}`
}

/** Reads of the index. */
export function indexReads(index: DatabaseSync) {
  const position = index.prepare("SELECT sequence FROM positions WHERE workspace = ?")
  const tree = index.prepare("SELECT size, hashes FROM trees WHERE workspace = ?")
  const tile = index.prepare(
    "SELECT hashes FROM tiles WHERE workspace = ? AND level = ? AND tile = ?",
  )
  const checkpoint = index.prepare(
    "SELECT size, root, note, signed_ms FROM checkpoints WHERE workspace = ?",
  )
  const filters = index.prepare("SELECT run, filter FROM runs WHERE run >= ? ORDER BY run")
  const runsOfReceipt = index.prepare(
    "SELECT run FROM runs WHERE lowest_receipt <= ?1 AND highest_receipt >= ?1",
  )
  const keysOf = index.prepare("SELECT keys FROM buckets WHERE run = ? AND bucket = ?")
  const receiptsOf = index.prepare("SELECT receipts FROM buckets WHERE run = ? AND bucket = ?")
  return {
    position: (workspace: string): number => Number(position.get(workspace)?.["sequence"] ?? 0),
    tree(workspace: string, epoch: number): Tree | undefined {
      const row = tree.get(logName(workspace, epoch))
      return row === undefined
        ? undefined
        : { size: Number(row["size"]), hashes: splitHashes(bytes(row["hashes"])) }
    },
    tiles: (workspace: string, epoch: number, tiles: readonly TileName[]): Uint8Array[] =>
      tiles.map((wanted) =>
        bytes(
          tile.get(logName(workspace, epoch), wanted.level, wanted.tile)?.["hashes"] ??
            new Uint8Array(),
        ),
      ),
    checkpoint(workspace: string, epoch: number): Checkpoint | undefined {
      const row = checkpoint.get(logName(workspace, epoch))
      if (row === undefined) return undefined
      return {
        size: Number(row["size"]),
        root: bytes(row["root"]),
        note: String(row["note"]),
        signedMs: Number(row["signed_ms"]),
      }
    },
    filters: (fromRun: number): { run: number; filter: Uint8Array }[] =>
      filters
        .all(fromRun)
        .map((row) => ({ run: Number(row["run"]), filter: bytes(row["filter"]) })),
    /** Entries that may have the key. The caller must compare. */
    entriesOfKey: (run: number, idem: string): Iterable<number> =>
      findInBucket(run, bucketText(keysOf, run, idem), idem),
    *entriesOfReceipt(receipt: string): Iterable<number> {
      for (const row of runsOfReceipt.all(receipt)) {
        const run = Number(row["run"])
        yield* findInBucket(run, bucketText(receiptsOf, run, receipt), receipt)
      }
    },
  }
}

/** Reads the auditor's positions, which an index of a former layout does not have. */
export function auditReads(index: DatabaseSync): (workspace: string) => Audit | undefined {
  const audit = index.prepare("SELECT state FROM audits WHERE workspace = ?")
  return (workspace) => parseAudit(audit.get(workspace)?.["state"])
}

/** Reads the last uses of credentials, which an index of a former layout does not have. */
export function useReads(index: DatabaseSync): (ids: readonly string[]) => CredentialUse[] {
  const use = index.prepare("SELECT at_ms, address FROM uses WHERE id = ?")
  return (ids) =>
    ids.flatMap((id) => {
      const row = use.get(id)
      return row === undefined
        ? []
        : [{ id, atMs: Number(row["at_ms"]), from: String(row["address"]) }]
    })
}

/** The number of a workspace, which stands in the rows of its entries instead of its id. */
export function workspaceNumbers(journal: DatabaseSync): (workspace: string) => number | undefined {
  const select = journal.prepare("SELECT number FROM workspaces WHERE id = ?")
  const known = new Map<string, number>()
  return (workspace) => {
    const seen = known.get(workspace)
    if (seen !== undefined) return seen
    const row = select.get(workspace)
    if (row === undefined) return undefined
    const number = Number(row["number"])
    known.set(workspace, number)
    return number
  }
}

/** The id of a workspace by its number; empty if there is none. */
function workspaceIds(journal: DatabaseSync): (number: number) => string {
  const select = journal.prepare("SELECT id FROM workspaces WHERE number = ?")
  const known = new Map<number, string>()
  return (number) => {
    const seen = known.get(number)
    if (seen !== undefined) return seen
    const row = select.get(number)
    if (row === undefined) return ""
    const id = String(row["id"])
    known.set(number, id)
    return id
  }
}

/**
 * The head that the last row of a chain makes. A record that cannot be parsed has a hash, no time.
 */
export function headOf(row: Row): Head {
  const record = bytes(row["record"])
  return {
    sequence: Number(row["sequence"]),
    hash: eventHash(record, sha256),
    timeMs: parseRecord(record)?.timeMs ?? 0,
  }
}

function documentOf(row: Row | undefined): Document | undefined {
  if (row === undefined) return undefined
  return {
    // The column is written from a DocumentKind only, and the value with it.
    kind: String(row["kind"]) as DocumentKind,
    workspace: String(row["workspace"]),
    id: String(row["id"]),
    version: Number(row["version"]),
    created: Number(row["created"]),
    value: parseJson(String(row["value"])) as unknown as Documents[DocumentKind],
  }
}

function bucketText(select: StatementSync, run: number, key: string): string {
  return String(Object.values(select.get(run, bucketOf(key)) ?? { none: "" })[0])
}

function optionalText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}
