// Checks the chain of one epoch, assembled from its pieces (chain-piece.ts), and compares the tree
// over it with every size and root that was signed or stored.

import {
  createFrontier,
  emptyFrontier,
  equalBytes,
  formatCheckpoint,
  nodeInTile,
  openNote,
  parseVkey,
  tileWidth,
  type Frontier,
  type SavedFrontier,
  type Vkey,
} from "@tallystick/proof"
import type { Workers } from "./workers.ts"
import { pieceEntries, pieceLevels, tileLevel, type Piece } from "./chain-piece.ts"
import type { Fault } from "./fault.ts"
import { sha256 } from "../../runtime/sha256.ts"
import type { Epoch } from "../../store/epochs.ts"
import type { Checkpoint } from "../../store/store.ts"
import type { KeptIndex, Whole } from "../../store/sqlite/whole-ledger.ts"

/** A size and a root that the chain must have. `by` names their source. */
export interface Watched {
  readonly size: number
  readonly root: Uint8Array
  readonly by: string
  /** The signed note, if there is one. */
  readonly note?: string
}

export interface ChainResult {
  /** Entries before the first broken one. */
  readonly entries: number
  readonly root: Uint8Array
  readonly faults: readonly Fault[]
  /** A broken entry ended the walk. */
  readonly isBroken: boolean
}

const levelsPerTile = 8
const hashBytes = 32

export async function walkChain(
  workers: Workers,
  whole: Whole,
  epoch: Epoch,
  watched: readonly Watched[],
  progress: (done: number) => void,
): Promise<ChainResult> {
  const { workspace: id, number, before, end } = epoch
  // Faults count entries from the first of the epoch; `counted` converts them at the end.
  const faults: Fault[] = []
  const vkeys: string[] = []
  const checkpoint = end === undefined ? whole.index?.checkpoint(id, number) : epoch.checkpoint
  const roots = watchRoots(id, [...watched, ...keptRoots(checkpoint), ...goneOnFrom(epoch)], faults)
  const tiles = watchTiles(whole.index, epoch, faults)
  const edge = watchEdge(whole.index, epoch, faults)
  const pieces = createFrontier(undefined, sha256)
  let tree = emptyFrontier
  let broken = false
  for await (const walked of workers.each(
    "piece",
    piecesOf(whole, epoch, [...roots.sizes, ...edge.sizes]),
  )) {
    const after = pieces.size * pieceEntries
    for (let at = 0; at < walked.subtrees.length / hashBytes; at++)
      tiles(
        tileLevel,
        after / 2 ** tileLevel + at,
        walked.subtrees.subarray(at * hashBytes, (at + 1) * hashBytes),
      )
    for (const within of walked.edges) {
      const grown = joined(pieces, within, tiles)
      if (grown.size === tree.size) continue
      tree = grown
      roots.grown(tree)
      edge.grown(tree)
    }
    vkeys.push(...walked.vkeys)
    progress(before + tree.size)
    if (walked.wrong === undefined) continue
    faults.push({ workspace: id, sequence: tree.size + 1, what: walked.wrong })
    broken = true
    break
  }
  if (!broken) {
    if (end === undefined) faults.push(...endFaults(whole, epoch, tree.size))
    roots.ended(tree.size)
    edge.ended(tree.size)
  }
  const keys = vkeys
    .flatMap((vkey) => parseVkey(vkey) ?? [])
    .filter((key) => key.name === epoch.origin)
  if (checkpoint !== undefined && !broken) faults.push(...checkpointFaults(checkpoint, epoch, keys))
  const root = createFrontier(tree, sha256).root()
  const signatures = watched.flatMap(({ note }) =>
    note === undefined ? [] : signatureFaults(note, id, keys),
  )
  return {
    entries: tree.size,
    root,
    faults: [...faults.map((fault) => counted(fault, before)), ...signatures],
    isBroken: broken,
  }
}

/** Converts the entry numbers of a fault to sequences of the workspace. */
function counted(fault: Fault, before: number): Fault {
  const { sequence, upTo } = fault
  return {
    ...fault,
    ...(sequence !== undefined && { sequence: before + sequence }),
    ...(upTo !== undefined && { upTo: before + upTo }),
  }
}

function* piecesOf(
  whole: Whole,
  { workspace, ledgerId: ledger, before, end }: Epoch,
  sizes: readonly number[],
): Generator<Piece> {
  const last = Math.max(0, (end ?? whole.last(workspace)) - before)
  for (let after = 0; after < last; after += pieceEntries) {
    const upTo = Math.min(after + pieceEntries, last)
    // The end of the piece is always reported.
    const counts = [...new Set(sizes)]
      .filter((size) => size > after && size < upTo)
      .map((size) => size - after)
    yield { workspace, ledger, before, after, upTo, counts }
  }
}

type Completed = (level: number, n: number, hash: Uint8Array) => void

/**
 * The tree over all complete pieces and this part of the next one. Appends the part to `pieces` if
 * it is complete.
 */
function joined(pieces: Frontier, within: SavedFrontier, completed: Completed): SavedFrontier {
  const [whole] = within.hashes
  if (within.size === pieceEntries && whole !== undefined)
    pieces.append(whole, (level, n, hash) => completed(level + pieceLevels, n, hash))
  const hashes = within.size === pieceEntries ? [] : within.hashes
  return {
    size: pieces.size * pieceEntries + (within.size % pieceEntries),
    hashes: [...pieces.save().hashes, ...hashes],
  }
}

/** Size and root of an epoch that ended, from the genesis of the next epoch. */
function goneOnFrom({ before, end, root }: Epoch): readonly Watched[] {
  return end === undefined || root === undefined
    ? []
    : [{ size: end - before, root, by: "the epoch that goes on from them" }]
}

function keptRoots(checkpoint: Checkpoint | undefined): readonly Watched[] {
  return checkpoint === undefined
    ? []
    : [{ size: checkpoint.size, root: checkpoint.root, by: "the checkpoint that is kept" }]
}

function watchRoots(workspace: string, watched: readonly Watched[], faults: Fault[]) {
  let good = 0
  return {
    sizes: watched.map(({ size }) => size),
    grown(tree: SavedFrontier): void {
      for (const { size, root, by } of watched) {
        if (size !== tree.size) continue
        if (equalBytes(createFrontier(tree, sha256).root(), root)) good = size
        else
          faults.push({
            workspace,
            sequence: good + 1,
            upTo: size,
            what: `they are not the ones that were signed: ${by} has another root for them`,
          })
      }
    },
    ended(entries: number): void {
      for (const { size, by } of watched) {
        if (size <= entries) continue
        faults.push({
          workspace,
          sequence: entries + 1,
          what: `it is not there, nor is any behind it; by ${by}, ${size} were signed`,
        })
      }
    },
  }
}

/**
 * Compares completed subtrees with the stored tiles. A tile of level 0, which an older index may
 * lack, is compared by its root.
 */
function watchTiles(
  index: KeptIndex | undefined,
  { workspace, number }: Epoch,
  faults: Fault[],
): Completed {
  const kept = index?.tree(workspace, number)?.size ?? 0
  const tiles = new Map<number, { readonly tile: number; readonly hashes: Uint8Array }>()
  let isFound = false
  return (level, n, hash) => {
    if (level === 0 || level % levelsPerTile !== 0 || isFound) return
    const end = (n + 1) * 2 ** level
    if (index === undefined || end > kept) return
    const [tileLevel, tile] = [level / levelsPerTile, Math.floor(n / tileWidth)]
    let known = tiles.get(tileLevel)
    if (known?.tile !== tile)
      tiles.set(
        tileLevel,
        (known = { tile, hashes: index.tile(workspace, number, tileLevel, tile) }),
      )
    const at = (n % tileWidth) * hashBytes
    const leaves = level === levelsPerTile ? index.tile(workspace, number, 0, n) : new Uint8Array()
    const isOther =
      leaves.length === tileWidth * hashBytes &&
      !equalBytes(nodeInTile(leaves, 0, tileWidth, sha256), hash)
    if (!isOther && equalBytes(known.hashes.subarray(at, at + hashBytes), hash)) return
    isFound = true
    const what = isOther
      ? `tile ${n} of level 0 has other hashes for them`
      : `tile ${tile} of level ${tileLevel} has another hash for them`
    faults.push({ workspace, sequence: n * 2 ** level + 1, upTo: end, what })
  }
}

/** Compares the stored right edge of the tree with the one that the entries make. */
function watchEdge(index: KeptIndex | undefined, { workspace, number }: Epoch, faults: Fault[]) {
  const kept = index?.tree(workspace, number)
  return {
    sizes: kept === undefined ? [] : [kept.size],
    grown({ size, hashes }: SavedFrontier): void {
      if (kept === undefined || kept.size !== size) return
      const [tile, width] = [Math.floor(size / tileWidth), size % tileWidth]
      const leaves = index?.tile(workspace, number, 0, tile) ?? new Uint8Array()
      if (leaves.length === width * hashBytes && width > 0 && !isEdge(leaves, hashes))
        faults.push({
          workspace,
          sequence: size - width + 1,
          upTo: size,
          what: `tile ${tile} of level 0 has other hashes for them`,
        })
      const place = hashes.findIndex(
        (hash, at) => !equalBytes(hash, kept.hashes[at] ?? new Uint8Array()),
      )
      if (place < 0 && kept.hashes.length === hashes.length) return
      faults.push({
        workspace,
        sequence: 1,
        upTo: kept.size,
        what: "the tree that is kept is not the one that they make",
      })
    },
    ended(entries: number): void {
      if (kept === undefined || kept.size <= entries) return
      faults.push({
        workspace,
        sequence: entries + 1,
        what: `it is not there, and the tree that is kept has ${kept.size} entries`,
      })
    },
  }
}

/** Whether the tree ends with these leaves, fewer than a tile has. */
function isEdge(leaves: Uint8Array, hashes: readonly Uint8Array[]): boolean {
  const edge = createFrontier(undefined, sha256)
  for (let at = 0; at < leaves.length; at += hashBytes)
    edge.append(leaves.subarray(at, at + hashBytes))
  const own = edge.save().hashes
  return own.every((hash, at) => equalBytes(hash, hashes.at(at - own.length) ?? new Uint8Array()))
}

/** Derived data about entries that do not exist. */
function endFaults(whole: Whole, { workspace, before }: Epoch, entries: number): readonly Fault[] {
  const faults: Fault[] = []
  const ahead = (of: number, what: string): void => {
    if (of > before + entries)
      faults.push({
        workspace,
        sequence: entries + 1,
        what: `it is not there, and ${what} up to entry ${of}`,
      })
  }
  ahead(whole.index?.position(workspace) ?? 0, "the index goes")
  ahead(whole.filed(workspace), "the search is filled")
  if (entries === 0)
    faults.push({
      workspace,
      sequence: 1,
      what: "it is not there, though a workspace is made by it",
    })
  return faults
}

/** The signature of a given checkpoint, by a key that the ledger announced. */
function signatureFaults(note: string, workspace: string, keys: readonly Vkey[]): readonly Fault[] {
  const opened = openNote(note, keys)
  return opened.ok
    ? []
    : [
        {
          workspace,
          what: `the given checkpoint is not signed by a key that the ledger announced (${opened.reason})`,
        },
      ]
}

/**
 * The stored checkpoint must say what was signed. Only for an unbroken chain: otherwise its key may
 * not have been seen.
 */
function checkpointFaults(
  { size, root, note }: Checkpoint,
  { workspace, origin }: Epoch,
  keys: readonly Vkey[],
): readonly Fault[] {
  const opened = openNote(note, keys)
  const at = { workspace, sequence: size }
  if (!opened.ok)
    return [
      {
        ...at,
        what: `the checkpoint that is kept is not signed by a key that the ledger announced (${opened.reason})`,
      },
    ]
  if (root.length !== hashBytes || opened.text !== formatCheckpoint({ origin, size, root }))
    return [
      {
        ...at,
        what: "the checkpoint that is kept says another size or root than it was signed with",
      },
    ]
  return []
}
