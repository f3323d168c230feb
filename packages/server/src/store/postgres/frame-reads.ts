// Finds the bodies of entries in the frames that they were packed into (../body-frame.ts).

import { parseRecord } from "@tallystick/proof"
import { frameEntries, openBodies, type OpenFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import { bodilessIn, splitRows, withBodies, type LinkedRows } from "../linked-rows.ts"
import { createUnpackedCache } from "../unpacked-cache.ts"
import { bytes, type Queries, type Row } from "./connection.ts"

/**
 * The frame of the entry `e`, if its body is not in its row. Entry and frame are read by one
 * statement: before a second one, the body might move.
 */
export const frameOfEntry = `
  LEFT JOIN LATERAL (
    SELECT first, count, version, bytes FROM tallystick.frames f
    WHERE f.workspace_id = $1 AND f.first <= e.sequence ORDER BY f.first DESC LIMIT 1
  ) f ON e.salted IS NULL AND e.sequence < f.first + f.count`

/** The bytes of the frame `f`, unless it is one of the known frames in these two parameters. */
export const bytesUnlessKnown = (firsts: string, versions: string): string => `
  CASE WHEN (f.first, f.version)
    NOT IN (SELECT * FROM unnest(${firsts}::bigint[], ${versions}::bigint[])) THEN f.bytes END`

/** The frames of these entries, each once. */
const framesAround = `
  SELECT DISTINCT ON (f.first) f.first, f.count, f.version, ${bytesUnlessKnown("$3", "$4")}
  FROM unnest($2::bigint[]) AS w (wanted)
  CROSS JOIN LATERAL (
    SELECT first, count, version, bytes FROM tallystick.frames f
    WHERE f.workspace_id = $1 AND f.first <= w.wanted ORDER BY f.first DESC LIMIT 1
  ) f WHERE w.wanted < f.first + f.count`
/** Frames of up to `$3` bytes together, at least one. */
const framesAfter = `
  SELECT first, count, bytes FROM (
    SELECT first, count, bytes, sum(length(bytes)) OVER (ORDER BY first) - length(bytes) AS before,
           sum(length(bytes)) OVER (ORDER BY first) AS total
    FROM (
      SELECT * FROM tallystick.frames WHERE workspace_id = $1 AND first > $2
      ORDER BY first LIMIT 1024
    ) f
  ) summed WHERE total <= $3 OR before = 0 ORDER BY first`
/** For a thread: some hundred frames of ordinary entries. */
const cacheBytesMax = 4 * 1024 * 1024

/** The salt and the body of an entry; undefined if no frame has them. */
export type FramedBodies = (sequence: number, record: Uint8Array) => Uint8Array | undefined

/** Frames in memory, which the database need not send again. */
export interface KnownFrames {
  readonly firsts: readonly number[]
  readonly versions: readonly number[]
  /**
   * Opens the frames of these rows. A row has first, count, version, and the bytes unless the frame
   * was known.
   */
  open(rows: readonly Row[]): FramedBodies
}

export interface FrameReads {
  known(workspace: string): KnownFrames
  bodies(workspace: string, sequences: readonly number[]): Promise<FramedBodies>
  /**
   * Adds the bodies from frames to these rows. If they are large, returns fewer, but at least one
   * piece.
   */
  filled(
    workspace: string,
    pieces: readonly LinkedRows[],
    bytesMax: number,
  ): Promise<readonly LinkedRows[]>
}

export function frameReads({ rows }: Queries): FrameReads {
  const cache = createUnpackedCache<OpenFrame>(cacheBytesMax, ({ textBytes }) => textBytes)
  const known: FrameReads["known"] = (workspace) => {
    const start = `${workspace}/`
    const held = new Map([...cache.entries()].filter(([place]) => place.startsWith(start)))
    return {
      firsts: [...held.keys()].map((place) => Number(place.slice(start.length))),
      versions: [...held.values()].map(({ version }) => version),
      open(found) {
        const frames = found.map(([first, count, version, content]) => {
          const place = start + String(first)
          const one = held.get(place)
          const opened =
            content === null && one !== undefined
              ? one.opened
              : cache.open(place, Number(version), () => openBodies(bytes(content)))
          return { first: Number(first), end: Number(first) + Number(count), opened }
        })
        return (sequence, record) => {
          const frame = frames.find((one) => sequence >= one.first && sequence < one.end)
          const index = frame && parseRecord(record)?.index
          return index === undefined ? undefined : frame?.opened.salted(index)
        }
      },
    }
  }
  const bodies: FrameReads["bodies"] = async (workspace, sequences) => {
    if (sequences.length === 0) return () => undefined
    const held = known(workspace)
    const asked = [workspace, sequences, held.firsts, held.versions]
    return held.open(await rows(framesAround, asked))
  }
  return {
    known,
    bodies,
    async filled(workspace, pieces, bytesMax) {
      const whole: LinkedRows[] = []
      let size = 0
      for (let left = pieces; left.length > 0 && size < bytesMax;) {
        const [some, others] =
          left[0]?.lengths.includes(0) === true
            ? splitRows(left, frameEntries)
            : [left.slice(0, 1), left.slice(1)]
        const framed = await bodies(workspace, bodilessIn(some))
        whole.push(...some.map((rows) => withBodies(framed, rows)))
        size = whole.reduce((sum, rows) => sum + rows.bodies.length, 0)
        left = others
      }
      return whole
    },
  }
}

export async function framesBehind(
  { rows }: Queries,
  workspace: string,
  after: number,
  bytesMax: number,
): Promise<readonly Frame[]> {
  return (await rows(framesAfter, [workspace, after, bytesMax])).map(frameOf)
}

export function frameOf([first, count, content]: Row): Frame {
  return { first: Number(first), count: Number(count), bytes: bytes(content) }
}
