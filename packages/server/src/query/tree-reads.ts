// The tree as proofs and tiles need it: level 0 is the hashes of the records themselves, all above is kept in tiles.

import {
  eventHash,
  inclusionNodes,
  inclusionProof,
  nodeInTile,
  recordBytes,
  rootNodes,
  rootOf,
  tileOf,
  tileWidth,
  type NodeReader,
  type Subtree,
} from "@tallystick/proof"
import { sha256 } from "../sha256.ts"
import type { Log } from "../store/epochs.ts"
import type { IndexReader, JournalReader } from "../store/store.ts"

export interface Kept {
  readonly journal: JournalReader
  readonly index: IndexReader
}

const hashBytes = 32

export async function readInclusion(kept: Kept, log: Log, index: number, size: number): Promise<readonly Uint8Array[]> {
  return inclusionProof(index, size, await readNodes(kept, log, inclusionNodes(index, size)), sha256)
}

/** The root of the first `size` entries, also of a tree that has grown beyond them. */
export async function readRoot(kept: Kept, log: Log, size: number): Promise<Uint8Array> {
  return rootOf(size, await readNodes(kept, log, rootNodes(size)), sha256)
}

/** The first `width` hashes of a tile, end to end; fewer where the tree has fewer. */
export async function readTile({ journal, index }: Kept, log: Log, level: number, tile: number, width: number): Promise<Uint8Array> {
  if (level > 0) return ((await index.tiles(log.name, [{ level, tile }]))[0] ?? new Uint8Array()).subarray(0, width * hashBytes)
  return hashesOf(await readRecords(journal, log, tile, width))
}

/** The records of the first `width` leaves of a tile, end to end: those of the next epoch are not of this tree. */
export function readRecords(
  journal: JournalReader,
  { workspace, before, end = Infinity }: Log,
  tile: number,
  width: number,
): Promise<Uint8Array> {
  const first = before + tile * tileWidth + 1
  return journal.records(workspace, first, Math.max(0, Math.min(width, end - first + 1)))
}

/** Reads the tiles in which these nodes are found, and answers for them. */
async function readNodes(kept: Kept, log: Log, nodes: readonly Subtree[]): Promise<NodeReader> {
  const wanted = new Map(nodes.map(({ level, n }) => tileOf(level, n)).map((slice) => [`${slice.level}/${slice.index}`, slice]))
  const tiles = new Map(
    await Promise.all(
      [...wanted].map(async ([key, { level, index }]): Promise<[string, Uint8Array]> => [
        key,
        await readTile(kept, log, level, index, tileWidth),
      ]),
    ),
  )
  return (level, n) => {
    const slice = tileOf(level, n)
    return nodeInTile(tiles.get(`${slice.level}/${slice.index}`) ?? new Uint8Array(), slice.start, slice.count, sha256)
  }
}

function hashesOf(records: Uint8Array): Uint8Array {
  const hashes = new Uint8Array((records.length / recordBytes) * hashBytes)
  for (let at = 0, place = 0; at < records.length; at += recordBytes, place += hashBytes) {
    hashes.set(eventHash(records.subarray(at, at + recordBytes), sha256), place)
  }
  return hashes
}
