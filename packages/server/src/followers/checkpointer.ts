// Grows each workspace's tree and signs it. It reads every entry back from storage and hashes it
// again. A signature is never taken back: the signed size and root are first written outside the
// data, and neither there nor in the index can they shrink or change.

import {
  assert,
  concat,
  createFrontier,
  equalBytes,
  formatCheckpoint,
  hashBytes,
  signNote,
  tileWidth,
  type Frontier,
} from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { OvertakenError } from "../error.ts"
import { sha256 } from "../runtime/sha256.ts"
import { readGone } from "../store/destroyed.ts"
import { epochsOf, keptTree, type Epoch, type Log } from "../store/epochs.ts"
import type { Heads, SignedHead } from "../store/heads.ts"
import { createLinkedChain, type LinkedChain } from "../store/linked-chain.ts"
import { bodilessIn, splitRows, type LinkedRows } from "../store/linked-rows.ts"
import type { Workspace } from "../store/documents.ts"
import {
  middleHeight,
  middleLevel,
  middlesPerTile,
  type Checkpoint,
  type TileGrowth,
  type Tree,
} from "../store/index-state.ts"
import type { Index, JournalReader, Registry } from "../store/store.ts"
import { readTile } from "../store/tree-reads.ts"
import type { SignersOf } from "./signer.ts"

/**
 * Storage returned other bytes than were recorded. Nothing more of that workspace may be signed.
 */
export class IntegrityError extends Error {
  override readonly name = "IntegrityError"
  /** The first broken entry; 1 if it is not known. */
  readonly sequence: number

  constructor(message: string, sequence = 1) {
    super(message)
    this.sequence = sequence
  }
}

export interface Checkpointer {
  /** The last entry that its tree has of a workspace. */
  position(workspace: string): Promise<number>
  /**
   * Takes the entries after the position. Idempotent: after a crash it gets half-taken entries
   * again.
   */
  take(workspace: string, pieces: readonly LinkedRows[]): Promise<void>
  /**
   * Signs the tree as far as it has grown. Resolves to the newest checkpoint; undefined for an
   * empty tree.
   */
  sign(workspace: string): Promise<Checkpoint | undefined>
  /** When the first entry that no checkpoint covers was recorded. */
  unsignedSinceMs(workspace: string): number | undefined
  /** The newest checkpoint that it has signed itself, so that it need not trust a file. */
  signedLast(workspace: string): Checkpoint | undefined
}

export interface CheckpointerParts {
  readonly journal: JournalReader
  readonly index: Index
  readonly registry: Registry
  readonly heads: Heads
  readonly signersOf: SignersOf
  /** Whether a stored checkpoint was signed for a workspace's newest epoch. */
  readonly isGenuine: (workspace: Workspace, checkpoint: Checkpoint) => Promise<boolean>
  /** The root of a log's first entries, as the journal and the index have them. */
  readonly rootAt: (log: Log, size: number) => Promise<Uint8Array>
  readonly clock: Clock
}

interface Growing {
  readonly epoch: Epoch
  readonly chain: LinkedChain
  /**
   * The index has the last tile of level 0 from its first hash on: that of an older version has
   * none.
   */
  hasLeaves: boolean
  readonly frontier: Frontier
  /** The middle of the last tile of level 0, without what an earlier process has seen of it. */
  readonly middles: Uint8Array[]
  unsignedSinceMs: number | undefined
  signedLast: Checkpoint | undefined
}

const levelsPerTile = 8

export function createCheckpointer(parts: CheckpointerParts): Checkpointer {
  const { journal, index, registry, heads, signersOf, isGenuine, rootAt, clock } = parts
  const trees = new Map<string, Growing>()

  /**
   * The tree that grows: the newest epoch's, unless the index is being rebuilt, which begins with
   * the oldest.
   */
  async function treeOf(workspace: string): Promise<Growing> {
    const known = trees.get(workspace)
    if (known !== undefined) return known
    const document = await registry.get("workspace", workspace, workspace)
    assert(document !== undefined, "a workspace with entries has a document")
    for (const epoch of epochsOf(document).toReversed()) {
      const saved = await index.tree(epoch.workspace, epoch.number)
      const size = saved?.size ?? 0
      if (epoch.end !== undefined && epoch.before + size >= epoch.end) continue
      const growing = await grownTo(epoch, size, saved)
      trees.set(workspace, growing)
      return growing
    }
    throw new Error("the newest epoch has no end")
  }

  async function grownTo(epoch: Epoch, size: number, saved: Tree | undefined): Promise<Growing> {
    const { workspace, before, ledgerId } = epoch
    assert(ledgerId.length === hashBytes, "a ledgerId has 32 bytes")
    const signed = await signedOf(epoch)
    // It was signed under another copy of the data. This data is then another history, which may
    // have more entries.
    if (
      signed !== undefined &&
      signed.size <= size &&
      !equalBytes(await rootAt(epoch, signed.size), signed.root)
    )
      throw notSigned(signed.size)
    const last = size === 0 ? undefined : await journal.records(workspace, before + size, 1)
    return {
      epoch,
      chain: createLinkedChain(ledgerId, before, size, last),
      hasLeaves: false,
      frontier: createFrontier(saved, sha256),
      middles: [],
      unsignedSinceMs: undefined,
      signedLast: undefined,
    }
  }

  /**
   * Throws if another server has signed entries since `before` that this database lacks: then the
   * database was restored to an older state meanwhile, and has grown into another history.
   */
  async function requireSameHistory(
    epoch: Epoch,
    signed: SignedHead | undefined,
    before: SignedHead | undefined,
  ): Promise<void> {
    if (signed === undefined || signed.size === before?.size) return
    if (!equalBytes(await rootAt(epoch, signed.size), signed.root)) throw notSigned(signed.size)
  }

  /** The leaves of the last tile of level 0, if the index lacks them. */
  async function missingLeaves({ epoch, frontier, hasLeaves }: Growing): Promise<Uint8Array> {
    const [tile, width] = [Math.floor(frontier.size / tileWidth), frontier.size % tileWidth]
    const [kept] =
      hasLeaves || width === 0
        ? []
        : await index.tiles(epoch.workspace, epoch.number, [{ level: 0, tile }])
    if (kept === undefined || kept.length >= width * hashBytes) return new Uint8Array()
    const leaves = await readTile({ journal, index }, epoch, 0, tile, width)
    if (leaves.length < width * hashBytes)
      throw new IntegrityError(`some of the ${frontier.size} entries of the tree are missing`)
    return leaves
  }

  /**
   * The checkpoint in the index, signed before this process began. Throws if somebody has replaced
   * it.
   */
  async function keptCheckpoint({
    workspace,
    number,
    origin,
  }: Epoch): Promise<Checkpoint | undefined> {
    const kept = await index.checkpoint(workspace, number)
    const document = kept && (await registry.get("workspace", workspace, workspace))
    if (kept === undefined || document === undefined) return undefined
    const signed = await heads.get(origin)
    const isSigned = signed?.size === kept.size ? equalBytes(signed.root, kept.root) : true
    if (!isSigned || !(await isGenuine(document, kept)))
      throw new IntegrityError(`the stored checkpoint of size ${kept.size} ${forgedWords}`)
    return kept
  }

  /**
   * The root that a tree must have at a size. For a former epoch these are the size and root of the
   * entries that were kept.
   */
  async function signedOf(epoch: Epoch): Promise<SignedHead | undefined> {
    return keptTree(epoch) ?? heads.get(epoch.origin)
  }

  async function grow(
    workspace: string,
    tree: Growing,
    pieces: readonly LinkedRows[],
  ): Promise<void> {
    const fromSize = tree.frontier.size
    const signed = await signedOf(tree.epoch)
    const tiles = createTileGrowth(fromSize, await missingLeaves(tree), tree.middles)
    const goneAt = await readGone(registry, workspace, bodilessIn(pieces))
    for (const rows of pieces) {
      const taken = (leaf: Uint8Array): void => {
        tree.frontier.append(leaf, tiles.completed)
        tree.unsignedSinceMs ??= tree.chain.timeMs
        if (tree.frontier.size === signed?.size && !equalBytes(tree.frontier.root(), signed.root))
          throw notSigned(signed.size)
      }
      const wrong = tree.chain.take(rows, taken, goneAt)
      if (wrong !== undefined) throw brokenAt(tree.epoch.before + tree.chain.index + 1, wrong)
    }
    const grown = await index.growTree(
      workspace,
      tree.epoch.number,
      fromSize,
      tree.frontier.save(),
      tiles.growth(),
    )
    if (!grown) throw overtaken()
    tree.hasLeaves = true
    // This epoch is complete: the next one's tree grows.
    if (positionOf(tree) === tree.epoch.end) trees.delete(workspace)
  }

  return {
    position: async (workspace) => positionOf(await treeOf(workspace)),
    unsignedSinceMs: (workspace) => trees.get(workspace)?.unsignedSinceMs,
    signedLast: (workspace) => trees.get(workspace)?.signedLast,

    async take(workspace, pieces) {
      try {
        for (let [now, later] = [pieces, pieces]; later.length > 0;) {
          const tree = await treeOf(workspace)
          const room = (tree.epoch.end ?? Infinity) - positionOf(tree)
          ;[now, later] = splitRows(later, room)
          await grow(workspace, tree, now)
        }
      } catch (error) {
        // The tree in memory is ahead of the stored one: it is read again.
        trees.delete(workspace)
        throw error
      }
    },

    async sign(workspace) {
      const tree = await treeOf(workspace)
      const { number, origin, end } = tree.epoch
      // A former epoch is never signed again, even while its tree is rebuilt.
      if (end !== undefined) return undefined
      const before = tree.signedLast ?? (await keptCheckpoint(tree.epoch))
      const size = tree.frontier.size
      if (size === (before?.size ?? 0)) return before
      assert(size > (before?.size ?? 0), "a tree never shrinks below what was signed")
      const signed = await heads.get(origin)
      // A rebuilt tree is signed again once it has reached what was signed before.
      if (signed !== undefined && signed.size > size) return before
      await requireSameHistory(tree.epoch, signed, before)
      const root = tree.frontier.root()
      if (!(await heads.advance(origin, { size, root }))) {
        trees.delete(workspace)
        if (((await heads.get(origin))?.size ?? 0) > size) throw overtaken()
        throw new IntegrityError(`another tree of size ${size} was signed`)
      }
      const signers = await signersOf(tree.epoch, size, before?.size ?? 0)
      for (const signer of signers)
        assert(signer.name === origin, "a ledger's key has its origin's name")
      const note = signNote(formatCheckpoint({ origin, size, root }), ...signers)
      const checkpoint = { size, root, note, signedMs: clock.now() }
      if (!(await index.putCheckpoint(workspace, number, before?.size ?? 0, checkpoint))) {
        trees.delete(workspace)
        throw overtaken()
      }
      tree.unsignedSinceMs = undefined
      tree.signedLast = checkpoint
      return checkpoint
    },
  }
}

/** The fault of a checkpoint that replaced the genuine one. */
export const forgedWords = "is not the one that was signed"

/** No harm is done: the tree is read again, as the other process has stored it. */
function overtaken(): OvertakenError {
  return new OvertakenError("its tree is ahead of the one here, which is read again")
}

function notSigned(size: number): IntegrityError {
  return new IntegrityError(`the first ${size} entries are not those that were signed`)
}

/** The sequence of the last entry in the tree. */
function positionOf({ epoch, frontier }: Growing): number {
  return epoch.before + frontier.size
}

export function brokenAt(sequence: number, wrong: string): IntegrityError {
  return new IntegrityError(`entry ${sequence}: ${wrong}`, sequence)
}

interface TilesGrowing {
  readonly completed: (level: number, n: number, hash: Uint8Array) => void
  readonly growth: () => readonly TileGrowth[]
}

/**
 * Collects the new hashes of tiles: the complete subtrees of every eighth level, the leaves of the
 * last tile of level 0 that the index lacks, and the middles of full tiles.
 */
function createTileGrowth(size: number, leaves: Uint8Array, middles: Uint8Array[]): TilesGrowing {
  const growing = new Map<
    string,
    { level: number; tile: number; offset: number; hashes: Uint8Array[] }
  >()
  const takeMiddle = (n: number, hash: Uint8Array): void => {
    const [tile, offset] = [Math.floor(n / middlesPerTile), n % middlesPerTile]
    if (offset === 0) middles.length = 0
    middles.push(hash)
    // The start of a tile that was begun by an earlier process is not known.
    if (offset === middlesPerTile - 1 && middles.length === middlesPerTile)
      growing.set(`${middleLevel}/${tile}`, {
        level: middleLevel,
        tile,
        offset: 0,
        hashes: [...middles],
      })
  }
  const tile = Math.floor(size / tileWidth)
  if (leaves.length > 0) growing.set(`0/${tile}`, { level: 0, tile, offset: 0, hashes: [leaves] })
  return {
    completed: (level, n, hash) => {
      if (level === middleHeight) takeMiddle(n, hash)
      if (level % levelsPerTile !== 0) return
      const tile = Math.floor(n / tileWidth)
      const key = `${level / levelsPerTile}/${tile}`
      const known = growing.get(key)
      if (known === undefined)
        growing.set(key, {
          level: level / levelsPerTile,
          tile,
          offset: n % tileWidth,
          hashes: [hash],
        })
      else known.hashes.push(hash)
    },
    growth: () =>
      [...growing.values()].map(({ level, tile, offset, hashes }) => ({
        level,
        tile,
        offset,
        hashes: concat(...hashes),
      })),
  }
}
