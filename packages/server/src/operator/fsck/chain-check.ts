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
  type NoteFailure,
  type SavedFrontier,
  type Vkey,
} from "@tallystick/proof"
import type { Workers } from "./workers.ts"
import { positionOf } from "../../store/search/segment-plan.ts"
import { pieceEntries, pieceLevels, tileLevel, type Piece } from "./chain-piece.ts"
import type { Fault } from "./fault.ts"
import { sha256 } from "../../runtime/sha256.ts"
import type { Epoch } from "../../store/epochs.ts"
import {
  middleLevel,
  middlesPerTile,
  type Checkpoint,
  type TileName,
} from "../../store/index-state.ts"
import type { KeptIndex, Whole } from "../../store/whole-ledger.ts"

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
  const faults = createFaults(epoch)
  const vkeys: string[] = []
  const checkpoint =
    end === undefined ? await whole.index?.checkpoint(id, number) : epoch.checkpoint
  const roots = watchRoots([...watched, ...keptRoots(checkpoint), ...continuedRoot(epoch)], faults)
  const tiles = await watchTiles(whole, epoch, faults)
  const edge = await watchEdge(whole, epoch, faults)
  const pieces = createFrontier(undefined, sha256)
  let tree = emptyFrontier
  let broken = false
  for await (const walked of workers.each(
    "piece",
    piecesOf(epoch, end ?? (await whole.last(id)), [...roots.sizes, ...edge.sizes]),
  )) {
    const after = pieces.size * pieceEntries
    const completed: Subtree[] = []
    for (let at = 0; at < walked.subtrees.length / hashBytes; at++)
      completed.push({
        level: tileLevel,
        n: after / 2 ** tileLevel + at,
        hash: walked.subtrees.subarray(at * hashBytes, (at + 1) * hashBytes),
      })
    for (const within of walked.edges) {
      const grown = joined(pieces, within, completed)
      if (grown.size === tree.size) continue
      tree = grown
      roots.grown(tree)
      edge.grown(tree)
    }
    await tiles.completed(completed)
    vkeys.push(...walked.vkeys)
    progress(before + tree.size)
    if (walked.wrong === undefined) continue
    faults.add(walked.wrong, tree.size + 1)
    broken = true
    break
  }
  const keys = vkeys
    .flatMap((vkey) => parseVkey(vkey) ?? [])
    .filter((key) => key.name === epoch.origin)
  if (!broken) {
    if (end === undefined) await checkEnd(whole, epoch, tree.size, faults)
    roots.ended(tree.size)
    edge.ended(tree.size)
    // A broken chain may have hidden the key.
    if (checkpoint !== undefined) checkStored(checkpoint, epoch, keys, faults)
  }
  for (const { note } of watched)
    if (note !== undefined) signedText("the given checkpoint", note, keys, faults)
  const root = createFrontier(tree, sha256).root()
  return { entries: tree.size, root, faults: faults.all, isBroken: broken }
}

interface Faults {
  readonly all: readonly Fault[]
  /** Entries are counted from the first of the epoch. */
  add(what: string, sequence?: number, upTo?: number): void
  /** Adds a fault of the index or the search. */
  derived(what: string, sequence: number, upTo?: number): void
}

function createFaults({ workspace, before }: Epoch): Faults {
  const all: Fault[] = []
  const faultOf = (what: string, sequence?: number, upTo?: number): Fault => ({
    workspace,
    ...(sequence !== undefined && { sequence: before + sequence }),
    ...(upTo !== undefined && { upTo: before + upTo }),
    what,
  })
  return {
    all,
    add: (...fault) => void all.push(faultOf(...fault)),
    derived: (...fault) => void all.push({ ...faultOf(...fault), isDerived: true }),
  }
}

function* piecesOf(
  { workspace, ledgerId: ledger, before }: Epoch,
  end: number,
  sizes: readonly number[],
): Generator<Piece> {
  const last = Math.max(0, end - before)
  for (let after = 0; after < last; after += pieceEntries) {
    const upTo = Math.min(after + pieceEntries, last)
    // The end of the piece is always reported.
    const counts = [...new Set(sizes)]
      .filter((size) => size > after && size < upTo)
      .map((size) => size - after)
    yield { workspace, ledger, before, after, upTo, counts }
  }
}

/** The n-th complete subtree of a level. */
interface Subtree {
  readonly level: number
  readonly n: number
  readonly hash: Uint8Array
}

/**
 * The tree over all complete pieces and this part of the next one. Appends the part to `pieces` if
 * it is complete.
 */
function joined(pieces: Frontier, within: SavedFrontier, completed: Subtree[]): SavedFrontier {
  const [whole] = within.hashes
  if (within.size === pieceEntries && whole !== undefined)
    pieces.append(whole, (level, n, hash) =>
      completed.push({ level: level + pieceLevels, n, hash }),
    )
  const hashes = within.size === pieceEntries ? [] : within.hashes
  return {
    size: pieces.size * pieceEntries + (within.size % pieceEntries),
    hashes: [...pieces.save().hashes, ...hashes],
  }
}

/** Size and root of an epoch that ended, from the genesis of the next epoch. */
function continuedRoot({ before, end, root }: Epoch): readonly Watched[] {
  return end === undefined || root === undefined
    ? []
    : [{ size: end - before, root, by: "the genesis of the next epoch" }]
}

function keptRoots(checkpoint: Checkpoint | undefined): readonly Watched[] {
  return checkpoint === undefined
    ? []
    : [{ size: checkpoint.size, root: checkpoint.root, by: "the stored checkpoint" }]
}

function watchRoots(watched: readonly Watched[], faults: Faults) {
  let good = 0
  return {
    sizes: watched.map(({ size }) => size),
    grown(tree: SavedFrontier): void {
      for (const { size, root, by } of watched) {
        if (size !== tree.size) continue
        const what = `these are not the entries that were signed: ${by} has another root hash for them`
        if (equalBytes(createFrontier(tree, sha256).root(), root)) good = size
        else faults.add(what, good + 1, size)
      }
    },
    ended(entries: number): void {
      for (const { size, by } of watched)
        if (size > entries)
          faults.add(
            `it and all later entries are missing; ${by} says that ${size} were signed`,
            entries + 1,
          )
    },
  }
}

/** What an index has of a full tile of leaves: the leaves, and their middle. */
const levelsBelow = [0, middleLevel] as const

/** An older index may lack the hashes. */
function mayLeadTo(
  root: Uint8Array,
  level: (typeof levelsBelow)[number],
  hashes: Uint8Array = new Uint8Array(),
): boolean {
  const width = level === middleLevel ? middlesPerTile : tileWidth
  return (
    hashes.length !== width * hashBytes || equalBytes(nodeInTile(hashes, 0, width, sha256), root)
  )
}

/**
 * Compares completed subtrees with the stored tiles. A tile of level 0 and its middle, which an
 * older index may lack, are compared by their root.
 */
async function watchTiles(
  { index, names: { index: name } }: Whole,
  { workspace, number }: Epoch,
  faults: Faults,
) {
  const kept = (await index?.tree(workspace, number))?.size ?? 0
  let isFound = false
  return {
    async completed(subtrees: readonly Subtree[]): Promise<void> {
      const stored = subtrees.filter(
        ({ level, n }) => level % levelsPerTile === 0 && (n + 1) * 2 ** level <= kept,
      )
      if (index === undefined || isFound || stored.length === 0) return
      const tiles = await readTiles(index, { workspace, number }, stored)
      for (const { level, n, hash } of stored) {
        const [above, tile] = [level / levelsPerTile, Math.floor(n / tileWidth)]
        const at = (n % tileWidth) * hashBytes
        const known = tiles.get(`${above}/${tile}`)?.subarray(at, at + hashBytes)
        const below = above === 1 ? levelsBelow : []
        const other = below.find((lower) => !mayLeadTo(hash, lower, tiles.get(`${lower}/${n}`)))
        if (other === undefined && known !== undefined && equalBytes(known, hash)) continue
        isFound = true
        const what =
          other === undefined
            ? `tile ${tile} of level ${above} in ${name} has another hash for them`
            : `tile ${n} of level ${other} in ${name} has other hashes for them`
        return faults.derived(what, n * 2 ** level + 1, (n + 1) * 2 ** level)
      }
    },
  }
}

/** The tiles with these subtrees by place, and what is below subtrees that are one tile. */
async function readTiles(
  index: Pick<KeptIndex, "tiles">,
  { workspace, number }: Pick<Epoch, "workspace" | "number">,
  subtrees: readonly Subtree[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const names = new Map<string, TileName>()
  const want = (level: number, tile: number) => names.set(`${level}/${tile}`, { level, tile })
  for (const { level, n } of subtrees) {
    want(level / levelsPerTile, Math.floor(n / tileWidth))
    if (level === levelsPerTile) for (const below of levelsBelow) want(below, n)
  }
  const found = await index.tiles(workspace, number, [...names.values()])
  return new Map([...names.keys()].map((key, at) => [key, found[at] ?? new Uint8Array()]))
}

/** Compares the stored right edge of the tree with the one that the entries make. */
async function watchEdge(
  { index, names: { index: name } }: Whole,
  { workspace, number }: Epoch,
  faults: Faults,
) {
  const kept = await index?.tree(workspace, number)
  const tile = Math.floor((kept?.size ?? 0) / tileWidth)
  const [leaves = new Uint8Array()] =
    (await index?.tiles(workspace, number, [{ level: 0, tile }])) ?? []
  return {
    sizes: kept === undefined ? [] : [kept.size],
    grown({ size, hashes }: SavedFrontier): void {
      if (kept === undefined || kept.size !== size) return
      const width = size % tileWidth
      if (leaves.length === width * hashBytes && width > 0 && !isEdge(leaves, hashes))
        faults.derived(
          `tile ${tile} of level 0 in ${name} has other hashes for them`,
          size - width + 1,
          size,
        )
      const isSame =
        kept.hashes.length === hashes.length &&
        hashes.every((hash, at) => equalBytes(hash, kept.hashes[at] ?? new Uint8Array()))
      if (!isSame) faults.derived(`the tree in ${name} is not the tree over them`, 1, kept.size)
    },
    ended(entries: number): void {
      if (kept !== undefined && kept.size > entries)
        faults.add(`it is missing, but the tree in ${name} has ${kept.size} entries`, entries + 1)
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

/** Finds derived data about entries that do not exist. */
async function checkEnd(
  whole: Whole,
  { workspace, before }: Epoch,
  entries: number,
  faults: Faults,
): Promise<void> {
  const position = positionOf(await whole.segments(workspace))
  if (position > before + entries)
    faults.add(`it is missing, but ${whole.names.search} goes up to entry ${position}`, entries + 1)
  if (entries === 0)
    faults.add("it is missing: every workspace begins with the entry that creates it", 1)
}

/** The stored checkpoint must be signed, and must say what was signed. */
function checkStored(
  { size, root, note }: Checkpoint,
  { origin }: Epoch,
  keys: readonly Vkey[],
  faults: Faults,
): void {
  const text = signedText("the stored checkpoint", note, keys, faults, size)
  const isSame = root.length === hashBytes && text === formatCheckpoint({ origin, size, root })
  if (text !== undefined && !isSame)
    faults.add("the stored checkpoint has another size or root than the text that was signed", size)
}

/** The text of a note; a fault and undefined unless a key that the ledger announced signed it. */
function signedText(
  name: string,
  note: string,
  keys: readonly Vkey[],
  faults: Faults,
  sequence?: number,
): string | undefined {
  const opened = openNote(note, keys)
  if (opened.ok) return opened.text
  faults.add(`${name} ${noteWords[opened.reason]}`, sequence)
  return undefined
}

const noteWords: Readonly<Record<NoteFailure, string>> = {
  malformed: "is not a signed note",
  unsigned: "is not signed by any key that the ledger announced",
  signature: "has an invalid signature by a key that the ledger announced",
}
