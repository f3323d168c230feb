// Finds the bodies of entries in the frames that they were packed into (../body-frame.ts).

import { parseRecord } from "@tallystick/proof"
import { frameEntries, type OpenFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import { createFrameCache, type FrameCache } from "../frame-cache.ts"
import { splitRows, withBodies, type LinkedRows } from "../linked-rows.ts"
import { bytes, type Queries, type Statement } from "./connection.ts"

/** Of each of these entries the frame that it may be in. */
const framesAround: Statement = {
  name: "frames around",
  text: `
    SELECT DISTINCT f.first, f.count, f.version
    FROM unnest($2::bigint[]) AS w (wanted)
    CROSS JOIN LATERAL (
      SELECT first, count, version FROM tallystick.frames f
      WHERE f.workspace_id = $1 AND f.first <= w.wanted ORDER BY f.first DESC LIMIT 1
    ) f WHERE w.wanted < f.first + f.count`,
}
const frameBytes: Statement = {
  name: "bytes of frames",
  text: `SELECT first, version, bytes FROM tallystick.frames
         WHERE workspace_id = $1 AND first = ANY ($2::bigint[])`,
}
/** Those up to `$3` bytes, one at least. */
const framesAfter: Statement = {
  name: "frames after",
  text: `
    SELECT first, count, bytes FROM (
      SELECT first, count, bytes, sum(length(bytes)) OVER (ORDER BY first) - length(bytes) AS before,
             sum(length(bytes)) OVER (ORDER BY first) AS total
      FROM (
        SELECT * FROM tallystick.frames WHERE workspace_id = $1 AND first > $2
        ORDER BY first LIMIT 1024
      ) f
    ) summed WHERE total <= $3 OR before = 0 ORDER BY first`,
}
/** The salt and the body of an entry; undefined if no frame has them. */
export type FramedBodies = (sequence: number, record: Uint8Array) => Uint8Array | undefined

export interface FrameReads {
  /** Those of these entries; one question for their frames, and one for frames not in memory. */
  bodies(workspace: string, sequences: readonly number[]): Promise<FramedBodies>
  /** These rows with the bodies that are in frames; fewer, one piece at least, if they are large. */
  filled(
    workspace: string,
    pieces: readonly LinkedRows[],
    bytesMax: number,
  ): Promise<readonly LinkedRows[]>
}

export function frameReads(database: Queries): FrameReads {
  const cache = createFrameCache()
  const bodies: FrameReads["bodies"] = async (workspace, sequences) => {
    if (sequences.length === 0) return () => undefined
    const frames = await framesOf(database, cache, workspace, sequences)
    return (sequence, record) => {
      const frame = frames.find((one) => sequence >= one.first && sequence < one.end)
      const index = frame && parseRecord(record)?.index
      return index === undefined ? undefined : frame?.opened.salted(index)
    }
  }
  return {
    bodies,
    async filled(workspace, pieces, bytesMax) {
      const whole: LinkedRows[] = []
      let size = 0
      for (let left = pieces; left.length > 0 && size < bytesMax;) {
        const [some, others] =
          left[0]?.lengths.includes(0) === true
            ? splitRows(left, frameEntries)
            : [left.slice(0, 1), left.slice(1)]
        const open = some.flatMap(({ sequences, lengths }) =>
          sequences.filter((_, place) => lengths[place] === 0),
        )
        const framed = await bodies(workspace, open)
        whole.push(...some.map((rows) => withBodies(framed, rows)))
        size = whole.reduce((sum, rows) => sum + rows.bodies.length, 0)
        left = others
      }
      return whole
    },
  }
}

interface FrameOfEntries {
  readonly first: number
  readonly end: number
  readonly opened: OpenFrame
}

async function framesOf(
  { rows }: Queries,
  cache: FrameCache,
  workspace: string,
  sequences: readonly number[],
): Promise<readonly FrameOfEntries[]> {
  const around = (await rows(framesAround, [workspace, sequences])).map((row) => {
    const [first, count, version] = row.map(Number) as [number, number, number]
    const place = `${workspace}/${first}`
    return { first, end: first + count, place, known: cache.known(place, version) }
  })
  const unread = around.filter(({ known }) => known === undefined)
  const read =
    unread.length === 0 ? [] : await rows(frameBytes, [workspace, unread.map(({ first }) => first)])
  const found = new Map(
    read.map(([first, version, content]) => [Number(first), { version: Number(version), content }]),
  )
  return around.flatMap(({ first, end, place, known }) => {
    if (known !== undefined) return [{ first, end, opened: known }]
    const now = found.get(first)
    if (now === undefined) return []
    return [{ first, end, opened: cache.open(place, now.version, () => bytes(now.content)) }]
  })
}

export async function framesBehind(
  { rows }: Queries,
  workspace: string,
  after: number,
  bytesMax: number,
): Promise<readonly Frame[]> {
  const found = await rows(framesAfter, [workspace, after, bytesMax])
  return found.map(([first, count, content]) => ({
    first: Number(first),
    count: Number(count),
    bytes: bytes(content),
  }))
}
