// All reads of the journal and the index, one statement for each question. The reader's thread and
// the watching program share them.

import type { DatabaseSync, StatementSync } from "node:sqlite"
import {
  documentOf,
  type CredentialDocumentKind,
  type DocumentKind,
  type Document,
  type ListPlace,
} from "../documents.ts"
import type { CredentialUse, Audit, Checkpoint, TileName, Tree } from "../index-state.ts"
import type { JournalReader } from "../store.ts"
import type { LinkedRows } from "../linked-rows.ts"
import { upToBytes, type Head, type Stored } from "../entries.ts"
import { countedAtOnce, type CountedAfter } from "../counted-documents.ts"
import { headReads } from "./chain-head.ts"
import { consecutiveReads } from "./consecutive-reads.ts"
import { atMost, bytes } from "./database.ts"
import { parseAudit, splitHashes } from "../index-rows.ts"
import { storedColumns, storedOf } from "./joined-entries.ts"
import { bucketOf, findInBucket } from "./key-runs.ts"
import { momentOf } from "./part-tables.ts"
import { placeReads } from "./place-reads.ts"
import { frameReads, stretchReads, type UnpackedListener } from "./stretch-reads.ts"
import { workspaceNumbers } from "./workspace-numbers.ts"

/** Some hundred frames of ordinary entries, and hundreds of stretches. */
const usualCacheBytes = 8 * 1024 * 1024
/**
 * For a reader that reads each entry once: a larger cache would only fill the old generation with
 * garbage.
 */
export const briefCacheBytes = 512 * 1024

/**
 * Reads of the journal. Statements are prepared once. A workspace's number never changes.
 * `cacheBytes` bounds the cache of opened frames and stretches. `listener` is told what they are.
 */
export function journalReads(
  journal: DatabaseSync,
  cacheBytes = usualCacheBytes,
  listener?: UnpackedListener,
) {
  const numberOf = workspaceNumbers(journal)
  const atOnce = momentOf(journal)
  const headOf = headReads(journal)
  const bodies = frameReads(journal, cacheBytes / 2, listener)
  const { frames } = bodies
  const stretches = stretchReads(journal, bodies, cacheBytes / 4, listener)
  const one = journal.prepare(`SELECT ${storedColumns} WHERE workspace = ? AND sequence = ?`)
  const consecutive = consecutiveReads(journal, frames, stretches)
  const record = journal.prepare("SELECT record FROM entries WHERE workspace = ? AND sequence = ?")
  /** Reads from an existing workspace, in one snapshot. */
  const within = <T>(workspace: string, none: T, read: (number: number) => T): T => {
    const number = numberOf(workspace)
    return number === undefined ? none : atOnce(() => read(number))
  }

  return {
    head(workspace: string): Head | undefined {
      const number = numberOf(workspace)
      return number === undefined ? undefined : headOf(number)
    },
    at(
      workspace: string,
      sequences: readonly number[],
      bytesMax = Number.POSITIVE_INFINITY,
    ): (Stored | undefined)[] {
      return within(
        workspace,
        sequences.map(() => undefined),
        (number) => {
          const framed = frames(number)
          const packed = stretches.single(workspace, number, sequences)
          const inRow = (place: number): Stored | undefined => {
            const row = one.get(number, sequences[place] ?? 0)
            return row === undefined ? undefined : storedOf(workspace, row, framed)
          }
          // An entry is mostly stored as the one before.
          let [likely, other] = [inRow, packed]
          const read = (place: number): Stored | undefined => {
            const entry = likely(place)
            if (entry !== undefined) return entry
            ;[likely, other] = [other, likely]
            return likely(place)
          }
          return [...upToBytes(sequences.keys().map(read), bytesMax)]
        },
      )
    },
    after: (workspace: string, after: number, limit: number): Stored[] =>
      within(workspace, [], (number) => consecutive.after(workspace, number, after, limit)),
    linked: (workspace: string, sequence: number, limit: number): LinkedRows[] =>
      within(workspace, [], (number) => consecutive.linked(number, sequence, limit)),
    records: (workspace: string, sequence: number, count: number): Uint8Array =>
      within(workspace, new Uint8Array(), (number) => consecutive.records(number, sequence, count)),
    recordsAt: (workspace: string, sequences: readonly number[]): (Uint8Array | undefined)[] =>
      within(
        workspace,
        sequences.map(() => undefined),
        (number) =>
          sequences.map((sequence) => {
            const stretch = stretches.at(number, sequence)
            if (stretch !== undefined) return stretch.open.record(sequence - stretch.first)
            const row = record.get(number, sequence)
            return row === undefined ? undefined : bytes(row["record"])
          }),
      ),
    ...placeReads(journal, stretches),
  }
}

/** These reads as the interface that all engines share has them: with promises. */
export function promised<R, Name extends keyof R>(reads: R, ...names: readonly Name[]) {
  const made = names.map((name) => {
    const read = reads[name] as (...asked: unknown[]) => unknown // all reads are functions
    return [name, async (...asked: unknown[]) => read(...asked)]
  })
  return Object.fromEntries(made) as Promised<Pick<R, Name>>
}

type Promised<R> = {
  readonly [Name in keyof R]: R[Name] extends (...asked: infer Asked) => infer Found
    ? (...asked: Asked) => Promise<Found>
    : never
}

export function readerOf(reads: ReturnType<typeof journalReads>): JournalReader {
  return promised(reads, "head", "at", "after", "linked", "records", "recordsAt")
}

/** The bytes of documents in one answer: a hundred of the largest would be fifty megabytes. */
const listBytesMax = 1024 * 1024

const newest: ListPlace = { created: Number.MAX_SAFE_INTEGER, id: "" }

export function documentReads(journal: DatabaseSync) {
  const columns = "created, kind, workspace, id, version, value FROM documents"
  const one = journal.prepare(`SELECT ${columns} WHERE kind = ? AND workspace = ? AND id = ?`)
  // Told nothing, SQLite would read every document of the kind, in an index that has the workspace.
  // If the index of ids is named and somebody has dropped it, nothing can be read.
  const byId = journal.prepare(
    "SELECT workspace FROM documents WHERE kind = ? AND unlikely(id = ?) LIMIT 1",
  )
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
    `SELECT count(*) AS count, max(id) AS last FROM (
       SELECT id FROM documents WHERE kind = ? AND workspace = ? AND id > ?
       ORDER BY id LIMIT ${countedAtOnce})`,
  )
  return {
    get: (kind: DocumentKind, workspace: string, id: string): Document | undefined => {
      const row = one.get(kind, workspace, id)
      return row && documentOf(row)
    },
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
        documents.push(documentOf(row))
      }
      return documents
    },
    countAfter(kind: DocumentKind, workspace: string, id: string): CountedAfter {
      const counted = count.get(kind, workspace, id)
      return { count: Number(counted?.["count"]), last: String(counted?.["last"]) }
    },
  }
}

/**
 * The name of an epoch's tree. For the first epoch it is the workspace's id. The other names are no
 * valid workspace ids.
 */
export function logName(workspace: string, epoch: number): string {
  return epoch === 1 ? workspace : `${workspace}/${epoch}`
}

export function indexReads(index: DatabaseSync) {
  const tree = index.prepare("SELECT size, hashes FROM trees WHERE workspace = ?")
  const tile = index.prepare(
    "SELECT hashes FROM tiles WHERE workspace = ? AND level = ? AND tile = ?",
  )
  tile.setReturnArrays(true)
  const checkpoint = index.prepare(
    "SELECT size, root, note, signed_ms FROM checkpoints WHERE workspace = ?",
  )
  const runs = index.prepare("SELECT count(*) AS runs FROM runs")
  const filters = index.prepare("SELECT run, filter FROM runs WHERE run >= ? ORDER BY run")
  const runsOfReceipt = index.prepare(
    "SELECT run FROM runs WHERE lowest_receipt <= ?1 AND highest_receipt >= ?1",
  )
  const keysOf = index.prepare("SELECT keys FROM buckets WHERE run = ? AND bucket = ?")
  const receiptsOf = index.prepare("SELECT receipts FROM buckets WHERE run = ? AND bucket = ?")
  return {
    tree(workspace: string, epoch: number): Tree | undefined {
      const row = tree.get(logName(workspace, epoch))
      return row === undefined
        ? undefined
        : { size: Number(row["size"]), hashes: splitHashes(bytes(row["hashes"])) }
    },
    tiles(workspace: string, epoch: number, tiles: readonly TileName[]): Uint8Array[] {
      const name = logName(workspace, epoch)
      return tiles.map((wanted) => {
        // The column of the statement, in array mode.
        const row = tile.get(name, wanted.level, wanted.tile) as readonly unknown[] | undefined
        return row === undefined ? new Uint8Array() : bytes(row[0])
      })
    },
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
    runs: (): number => Number(runs.get()?.["runs"] ?? 0),
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

function bucketText(select: StatementSync, run: number, key: string): string {
  return String(Object.values(select.get(run, bucketOf(key)) ?? { none: "" })[0])
}

function optionalText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}
