// Packs, returns, drops and destroys the content of entries in the database (../content-keeper.ts).
// The rows of packed entries stay, without a body. Several servers may do this at once: a step does
// nothing if the rows that it has read were changed.

import { assert } from "@tallystick/proof"
import type { SequenceRange } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import {
  isLess,
  type ContentKeeper,
  type Frame,
  type Packed,
  type Remaining,
} from "../content-keeper.ts"
import { isWithin } from "../destroyed.ts"
import { frameWithout, nextFrame, partsToPut, stretchRead } from "../stretch.ts"
import { bytes, type Database, type Queries } from "./connection.ts"
import { frameOf, framesBehind } from "./frame-reads.ts"
import { linkedOf } from "./reads.ts"

/** Frames that one step removes or rewrites, in some milliseconds. */
const framesPerStep = 32
const rowsPerStep = 256

const packedUpTo = "SELECT sequence FROM tallystick.packed WHERE workspace_id = $1"
/** Never the last entry of the chain, to which the next entry is linked. */
const unpacked = `SELECT e.sequence, e.record, e.salted FROM tallystick.entries e
  WHERE e.workspace_id = $1 AND e.sequence > $2 AND e.sequence <= $3
    AND e.sequence < (SELECT h.sequence FROM tallystick.heads h WHERE h.workspace_id = $1)
  ORDER BY e.sequence LIMIT ${stretchRead}`
const passOn = `INSERT INTO tallystick.packed AS p (workspace_id, sequence) VALUES ($1, $2)
  ON CONFLICT (workspace_id) DO UPDATE SET sequence = greatest(p.sequence, excluded.sequence)`
const putFrame = `INSERT INTO tallystick.frames (workspace_id, first, count, version, bytes)
  VALUES ($1, $2, $3, $4, $5)`
const emptyRows = `UPDATE tallystick.entries SET salted = NULL
  WHERE workspace_id = $1 AND sequence BETWEEN $2 AND $3 AND salted IS NOT NULL
  RETURNING sequence`
const recordsOf = `SELECT sequence, record FROM tallystick.entries
  WHERE workspace_id = $1 AND sequence BETWEEN $2 AND $3 ORDER BY sequence`
const withBody = `SELECT sequence FROM tallystick.entries
  WHERE workspace_id = $1 AND sequence BETWEEN $2 AND $3 AND salted IS NOT NULL`
/** Locked, so that two servers do not rewrite one frame at once. */
const framesIn = `SELECT first, count, bytes FROM tallystick.frames
  WHERE workspace_id = $1 AND first <= $3 AND first + count > $2
    AND first >= coalesce((SELECT max(f.first) FROM tallystick.frames f
                           WHERE f.workspace_id = $1 AND f.first <= $2), $2)
  ORDER BY first LIMIT $4 FOR UPDATE`
/** In place, so that whoever waits for the lock of the row gets the new bytes. */
const changeFrame = `UPDATE tallystick.frames SET version = $3, bytes = $4
  WHERE workspace_id = $1 AND first = $2`
const removeFrame = "DELETE FROM tallystick.frames WHERE workspace_id = $1 AND first = $2"
const destroyRows = `UPDATE tallystick.entries SET salted = NULL, sealed = ''
  WHERE workspace_id = $1 AND sequence BETWEEN $2 AND $3
    AND (salted IS NOT NULL OR sealed <> '')`
const sealedOf = `SELECT sequence, sealed FROM tallystick.entries
  WHERE workspace_id = $1 AND sequence = ANY ($2::bigint[]) FOR UPDATE`
const keepSealed = `UPDATE tallystick.entries e SET sealed = k.sealed
  FROM unnest($2::bigint[], $3::text[]) AS k (sequence, sealed)
  WHERE e.workspace_id = $1 AND e.sequence = k.sequence`
/** By default, this connection's commits do not wait for the disk. */
const waitForDisk = "SELECT set_config('synchronous_commit', 'on', true)"

export function createContentKeeper(database: Database): ContentKeeper {
  return {
    pack: (...asked) => pack(database, ...asked),
    frames: (...asked) => framesBehind(database, ...asked),
    dropBodies: (workspace, range) =>
      database.within(async (queries) => {
        const some = await framesOf(queries, workspace, range, framesPerStep)
        for (const { first, count } of some) {
          const isWhole = first >= range.first && first + count - 1 <= range.last
          assert(isWhole, "no frame lies partly in what is dropped")
          await queries.rows(removeFrame, [workspace, first])
        }
        const last = some.at(-1)
        return some.length < framesPerStep || last === undefined
          ? range.last
          : last.first + last.count - 1
      }),
    async putFrames(workspace, frames) {
      for (const frame of frames)
        await database.within(async (queries) => {
          await queries.rows(waitForDisk)
          await putBack(queries, workspace, frame)
        })
    },
    destroyBodies: (workspace, ranges) =>
      database.within(async (queries) => {
        await queries.rows(waitForDisk)
        return (await destroy(queries, workspace, ranges)) ?? ranges.at(-1)?.last ?? 0
      }),
    async keepDisclosures(workspace, remaining) {
      const some = remaining.slice(0, rowsPerStep)
      await database.within(async (queries) => {
        await queries.rows(waitForDisk)
        await keepDisclosures(queries, workspace, some)
      })
      return some.at(-1)?.sequence ?? 0
    },
    // The database manages its own write-ahead log: docs/operating.md says what remains in it.
    clearLog: async () => true,
    overwriteCopies: async () => true,
  }
}

async function pack(
  database: Database,
  workspace: string,
  after: number,
  upTo: number,
  mayBePart?: boolean,
): Promise<Packed | undefined> {
  const [passed] = await database.rows(packedUpTo, [workspace])
  const rows = await database.rows(unpacked, [
    workspace,
    Math.max(after, Number(passed?.[0] ?? 0)),
    upTo,
  ])
  const entries = rows.map(linkedOf)
  const next = nextFrame(entries, mayBePart)
  if (next === undefined) return undefined
  if ("last" in next) {
    await database.rows(passOn, [workspace, next.last])
    return { last: next.last, entries: 0, bytes: 0 }
  }
  const { first, count, bytes: frame } = next.frame
  const last = first + count - 1
  const bodies = entries.filter(({ sequence, body }) => sequence <= last && body !== undefined)
  await database.within(async (queries) => {
    await put(queries, workspace, next.frame)
    const emptied = await queries.rows(emptyRows, [workspace, first, last])
    // Otherwise some bodies were destroyed after they were read.
    assert(emptied.length === bodies.length, "what is packed is what the rows have")
    await queries.rows(passOn, [workspace, last])
  })
  return { last, entries: count, bytes: frame.length }
}

/** An empty frame is not stored. */
async function put({ rows }: Queries, workspace: string, frame: Frame): Promise<void> {
  const { first, count, bytes: content } = frame
  if (content.length > 0)
    await rows(putFrame, [workspace, first, count, versionOf(content), Buffer.from(content)])
}

async function replace({ rows }: Queries, workspace: string, frame: Frame): Promise<void> {
  const { first, bytes: content } = frame
  await (content.length === 0
    ? rows(removeFrame, [workspace, first])
    : rows(changeFrame, [workspace, first, versionOf(content), Buffer.from(content)]))
}

function versionOf(content: Uint8Array): number {
  return Buffer.from(sha256(content)).readUIntBE(0, 6)
}

async function framesOf(
  { rows }: Queries,
  workspace: string,
  { first, last }: SequenceRange,
  limit: number,
): Promise<readonly Frame[]> {
  return (await rows(framesIn, [workspace, first, last, limit])).map(frameOf)
}

async function entriesOf({ rows }: Queries, workspace: string, { first, count }: Frame) {
  const found = await rows(recordsOf, [workspace, first, first + count - 1])
  return found.map(([sequence, record]) => ({ sequence: Number(sequence), record: bytes(record) }))
}

async function putBack(queries: Queries, workspace: string, frame: Frame): Promise<void> {
  const { first, count } = frame
  const last = first + count - 1
  const there = await framesOf(queries, workspace, { first, last }, count)
  const rows = await queries.rows(withBody, [workspace, first, last])
  const inRows = rows.map(([sequence]) => Number(sequence))
  const entries = await entriesOf(queries, workspace, frame)
  for (const part of partsToPut(frame, entries, there, inRows)) await put(queries, workspace, part)
}

/** Returns the last sequence that was done. Undefined if all are done. */
async function destroy(
  queries: Queries,
  workspace: string,
  ranges: readonly SequenceRange[],
): Promise<number | undefined> {
  const isGone = isWithin(ranges)
  let left = framesPerStep
  for (const range of ranges) {
    for (let { first } = range; first <= range.last;) {
      if (left <= 0) return first - 1
      const end = Math.min(range.last, first + rowsPerStep - 1)
      // Waits for a transaction that packs these rows. The next statement finds its frame.
      await queries.rows(destroyRows, [workspace, first, end])
      const some = await framesOf(queries, workspace, { first, last: end }, left)
      for (const frame of some) {
        const without = frameWithout(frame, await entriesOf(queries, workspace, frame), isGone)
        await replace(queries, workspace, without)
      }
      // Of frames that one step cannot rewrite, the next step does the rest.
      const last = some.length < left ? undefined : some.at(-1)
      first = 1 + (last === undefined ? end : Math.min(end, last.first + last.count - 1))
      left -= some.length + 1
    }
  }
  return undefined
}

async function keepDisclosures(
  { rows }: Queries,
  workspace: string,
  remaining: readonly Remaining[],
): Promise<void> {
  const sequencesOf = (some: readonly Remaining[]) => some.map(({ sequence }) => sequence)
  const found = new Map(
    (await rows(sealedOf, [workspace, sequencesOf(remaining)])).map(([sequence, sealed]) => [
      Number(sequence),
      String(sealed),
    ]),
  )
  const kept = remaining.filter(({ sequence, disclosures }) =>
    isLess(found.get(sequence) ?? "", disclosures),
  )
  const left = kept.map(({ disclosures }) => disclosures)
  await rows(keepSealed, [workspace, sequencesOf(kept), left])
}
