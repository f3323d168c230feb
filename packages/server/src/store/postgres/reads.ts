// All reads of the journal and of the index, one statement for each question.

import { bodySaltBytes } from "@tallystick/proof"
import { frameEntries } from "../body-frame.ts"
import { bodiless } from "../destroyed.ts"
import { bytesOf, saltAndBody, upToBytes, withBody, type Head, type Stored } from "../entries.ts"
import { parseAudit, splitHashes } from "../index-rows.ts"
import type { Finding } from "../index-state.ts"
import { linkRows, type ChainEntry } from "../linked-rows.ts"
import type { IndexReader, Journal, JournalReader } from "../store.ts"
import {
  bytesUnlessKnown,
  frameOfEntry,
  frameReads,
  type FramedBodies,
  type FrameReads,
} from "./frame-reads.ts"
import { bytes, optionalBytes, type Queries, type Row } from "./connection.ts"

/**
 * A bound in bytes besides the number of entries: a thousand of the largest would be a quarter of a
 * gigabyte.
 */
const afterBytesMax = 8 * 1024 * 1024
/** The first column of a frame in a row of `entriesAt`. */
const framesFrom = 8

const columns = "e.sequence, e.record, e.receipt, e.idem, e.salted, e.sealed"
const size = `coalesce(length(e.salted) - ${bodySaltBytes}, 0) + octet_length(e.sealed)`
/** The running total of bytes up to and including each row. */
const running = (order: string) => `sum(${size}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`

const anyHead = "SELECT sequence FROM tallystick.heads LIMIT 1"
const headOfChain = "SELECT sequence, hash, time_ms FROM tallystick.heads WHERE workspace_id = $1"

/**
 * Each entry with the running total of bytes. The first ones come with their frames. An entry
 * beyond the limit comes without its content.
 */
const entriesAt = `
  SELECT place, total, sequence, CASE WHEN within THEN record END, receipt, idem,
         CASE WHEN within THEN salted END, CASE WHEN within THEN sealed END, first, count, version,
         CASE WHEN first IS DISTINCT FROM lag(first) OVER (ORDER BY place) THEN bytes END
  FROM (
    SELECT e.*, f.first, f.count, f.version, ${bytesUnlessKnown("$4", "$5")} AS bytes
    FROM (
      SELECT *, total <= $3 OR place = 1 AS within
      FROM (
        SELECT w.place, ${columns}, (${running("w.place")})::bigint AS total
        FROM unnest($2::bigint[]) WITH ORDINALITY AS w (wanted, place)
        CROSS JOIN LATERAL (
          SELECT * FROM tallystick.entries e WHERE e.workspace_id = $1 AND e.sequence = w.wanted LIMIT 1
        ) e
      ) summed
    ) e ${frameOfEntry} AND e.within AND e.place <= ${frameEntries}
  ) found ORDER BY place`

const after = (columns: string) => `
  SELECT ${columns}
  FROM (
    SELECT ${columns}, ${running("e.sequence")} - (${size}) AS before
    FROM (
      SELECT * FROM tallystick.entries e
      WHERE e.workspace_id = $1 AND e.sequence > $2 ORDER BY e.sequence LIMIT $3
    ) e
  ) e WHERE before < ${afterBytesMax} ORDER BY sequence`
const entriesAfter = after(columns)
const linkedAfter = after("e.sequence, e.record, e.salted")

/** Records up to the first gap. */
const recordsFrom = `
  SELECT string_agg(record, ''::bytea ORDER BY sequence)
  FROM (
    SELECT e.sequence, e.record, row_number() OVER (ORDER BY e.sequence) AS place
    FROM tallystick.entries e
    WHERE e.workspace_id = $1 AND e.sequence >= $2 AND e.sequence < $2 + $3
  ) found WHERE sequence = $2 + place - 1`

const recordsAt =
  "SELECT sequence, record FROM tallystick.entries WHERE workspace_id = $1 AND sequence = ANY ($2::bigint[])"

const entryOfReceipt = `SELECT ${columns} FROM tallystick.entries e WHERE e.workspace_id = $1 AND e.receipt = $2`

const sequenceOfKey =
  "SELECT sequence FROM tallystick.entries WHERE workspace_id = $1 AND idem = $2"

export function journalReads(database: Queries): Omit<Journal, "append"> {
  const frames = frameReads(database)
  const reader: JournalReader = {
    async head(workspace) {
      const [row] = await database.rows(headOfChain, [workspace])
      return row === undefined ? undefined : headOf(row)
    },
    async at(workspace, sequences, bytesMax = Number.MAX_SAFE_INTEGER) {
      const known = frames.known(workspace)
      const rows = await database.rows(entriesAt, [
        workspace,
        sequences,
        Math.min(bytesMax, Number.MAX_SAFE_INTEGER),
        known.firsts,
        known.versions,
      ])
      const found = new Map(rows.map(([place, ...row]) => [Number(place) - 1, row]))
      const entries: (Stored | undefined)[] = []
      let bytes = 0
      for (const place of sequences.keys()) {
        const [total = bytes, ...row] = found.get(place) ?? []
        bytes = Number(total)
        if (bytes > bytesMax && place > 0) break
        entries.push(row.length === 0 ? undefined : storedOf(workspace, row))
      }
      return filled(frames, workspace, entries, bytesMax, known.open(framesIn(rows)))
    },
    async after(workspace, sequence, limit) {
      const rows = await database.rows(entriesAfter, [workspace, sequence, limit])
      const entries = rows.map((row) => storedOf(workspace, row))
      // All of them are defined.
      return (await filled(frames, workspace, entries, afterBytesMax)) as readonly Stored[]
    },
    async linked(workspace, sequence, limit) {
      const rows = await database.rows(linkedAfter, [workspace, sequence, limit])
      return frames.filled(
        workspace,
        rows.length === 0 ? [] : [linkRows(rows.map(linkedOf))],
        afterBytesMax,
      )
    },
    async records(workspace, sequence, count) {
      const [row] = await database.rows(recordsFrom, [workspace, sequence, count])
      return optionalBytes(row?.[0]) ?? new Uint8Array()
    },
    async recordsAt(workspace, sequences) {
      const rows = await database.rows(recordsAt, [workspace, sequences])
      const found = new Map(rows.map(([sequence, record]) => [sequence, bytes(record)]))
      return sequences.map((sequence) => found.get(sequence))
    },
  }
  return {
    ...reader,
    async byReceipt(workspace, receipt) {
      const [row] = await database.rows(entryOfReceipt, [workspace, receipt])
      const entries = row === undefined ? [] : [storedOf(workspace, row)]
      return (await filled(frames, workspace, entries, afterBytesMax))[0]
    },
    async byKey(workspace, idem) {
      const [row] = await database.rows(sequenceOfKey, [workspace, idem])
      return row === undefined ? undefined : Number(row[0])
    },
    isEmpty: async () => (await database.rows(anyHead)).length === 0,
  }
}

/**
 * The first entries, at least one, with at most `bytesMax` bytes together. `known` has bodies of
 * the first packed entries.
 */
async function filled(
  frames: FrameReads,
  workspace: string,
  entries: readonly (Stored | undefined)[],
  bytesMax: number,
  known?: FramedBodies,
): Promise<readonly (Stored | undefined)[]> {
  const whole: (Stored | undefined)[] = []
  let bytes = 0
  // A few at a time, because the sizes of bodies in frames are known only after reading.
  for (let at = 0; at < entries.length && bytes <= bytesMax; at += frameEntries) {
    const some = entries.slice(at, at + frameEntries)
    const framed =
      (at === 0 ? known : undefined) ?? (await frames.bodies(workspace, bodiless(some)))
    for (const entry of some) {
      const salted = entry?.body ? undefined : entry && framed(entry.sequence, entry.record)
      const filledOne = entry && salted ? withBody(entry, salted) : entry
      whole.push(filledOne)
      bytes += bytesOf(filledOne)
    }
  }
  return [...upToBytes(whole, bytesMax)]
}

export function headOf([sequence, hash, timeMs]: Row): Head {
  return { sequence: Number(sequence), hash: bytes(hash), timeMs: Number(timeMs) }
}

function storedOf(
  workspace: string,
  [sequence, record, receipt, idem, salted, sealed]: Row,
): Stored {
  return {
    workspace,
    sequence: Number(sequence),
    record: bytes(record),
    receipt: String(receipt),
    idem: typeof idem === "string" ? idem : undefined,
    ...saltAndBody(optionalBytes(salted)),
    disclosures: String(sealed),
  }
}

/** The frames in rows of `entriesAt`. Consecutive entries of one frame give it once. */
function framesIn(rows: readonly Row[]): readonly Row[] {
  const frames = rows.map((row) => row.slice(framesFrom)).filter(([first]) => first !== null)
  return frames.filter(([first], place) => first !== frames[place - 1]?.[0])
}

export function linkedOf([sequence, record, salted]: Row): ChainEntry {
  const content = saltAndBody(optionalBytes(salted))
  return { sequence: Number(sequence), record: bytes(record), ...content }
}

const treeOf = "SELECT size, hashes FROM tallystick.trees WHERE workspace_id = $1 AND epoch = $2"
const tilesOf = `
  SELECT t.level, t.tile, t.hashes
  FROM unnest($3::integer[], $4::bigint[]) AS w (level, tile)
  CROSS JOIN LATERAL (
    SELECT * FROM tallystick.tiles t
    WHERE t.workspace_id = $1 AND t.epoch = $2 AND t.level = w.level AND t.tile = w.tile LIMIT 1
  ) t`
const checkpointOf = `SELECT size, root, note, signed_ms FROM tallystick.checkpoints
  WHERE workspace_id = $1 AND epoch = $2`
const auditOf = "SELECT state FROM tallystick.audits WHERE workspace_id = $1"
const usesOf = "SELECT id, at_ms, address FROM tallystick.uses WHERE id = ANY ($1::text[])"

export function indexReads(database: Queries): IndexReader {
  return {
    async tree(workspace, epoch) {
      const [row] = await database.rows(treeOf, [workspace, epoch])
      return row && { size: Number(row[0]), hashes: splitHashes(bytes(row[1])) }
    },
    async tiles(workspace, epoch, tiles) {
      const [levels, places] = [tiles.map(({ level }) => level), tiles.map(({ tile }) => tile)]
      const rows = await database.rows(tilesOf, [workspace, epoch, levels, places])
      const found = new Map(
        rows.map(([level, tile, hashes]) => [`${Number(level)}/${Number(tile)}`, hashes]),
      )
      return tiles.map(
        ({ level, tile }) => optionalBytes(found.get(`${level}/${tile}`)) ?? new Uint8Array(),
      )
    },
    async checkpoint(workspace, epoch) {
      const [row] = await database.rows(checkpointOf, [workspace, epoch])
      if (row === undefined) return undefined
      const [size, root, note, signedMs] = row
      return {
        size: Number(size),
        root: bytes(root),
        note: String(note),
        signedMs: Number(signedMs),
      }
    },
    async audit(workspace) {
      const [row] = await database.rows(auditOf, [workspace])
      return parseAudit(row?.[0])
    },
    async uses(ids) {
      const rows = await database.rows(usesOf, [ids])
      const found = new Map(rows.map((row) => [String(row[0]), row]))
      return ids.flatMap((id) => {
        const [, atMs, from] = found.get(id) ?? []
        return atMs === undefined ? [] : [{ id, atMs: Number(atMs), from: String(from) }]
      })
    },
  }
}

const auditsWithFinding = `SELECT state FROM tallystick.audits WHERE state LIKE '%"finding":{%'`

/** Broken entries that the auditors of all servers have found. */
export async function findingsOf(database: Queries): Promise<readonly Finding[]> {
  const rows = await database.rows(auditsWithFinding)
  return rows.flatMap(([state]) => parseAudit(state)?.finding ?? [])
}
