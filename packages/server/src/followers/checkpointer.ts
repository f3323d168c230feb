// Grows each workspace's tree from what storage gives back, every byte of it hashed again, and signs it. What was signed is never
// taken back: the signed size and root are noted outside the data first, and neither there nor in the index can they shrink or differ.

import { strict as assert } from "node:assert"
import {
  bodyHash,
  createFrontier,
  equalBytes,
  eventHash,
  formatCheckpoint,
  fromHex,
  parseRecord,
  signNote,
  tileWidth,
  toHex,
  type Frontier,
} from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { sha256 } from "../sha256.ts"
import type { Heads } from "../store/heads.ts"
import type { Checkpoint, Index, JournalReader, Registry, Stored, TileGrowth } from "../store/store.ts"
import type { Follower } from "./follow.ts"
import type { SignersOf } from "./signer.ts"

/** Storage gave back something that is not what was chained. Nothing more of that workspace may be signed. */
export class IntegrityError extends Error {
  override readonly name = "IntegrityError"
}

export interface Checkpointer extends Follower {
  /** Signs the tree as far as it has grown; the checkpoint that stands afterwards, none for an empty tree. */
  sign(workspace: string): Promise<Checkpoint | undefined>
  /** When the first entry that no checkpoint covers was recorded. */
  unsignedSinceMs(workspace: string): number | undefined
}

export interface CheckpointerParts {
  readonly journal: JournalReader
  readonly index: Index
  readonly registry: Registry
  readonly heads: Heads
  readonly signersOf: SignersOf
  /** The root of a workspace's first entries, as the journal and the index have them. */
  readonly rootAt: (workspace: string, size: number) => Promise<Uint8Array>
  readonly clock: Clock
}

interface Growing {
  readonly origin: string
  readonly ledgerId: Uint8Array
  frontier: Frontier
  lastHash: Uint8Array
  unsignedSinceMs: number | undefined
}

const hashBytes = 32
const levelsPerTile = 8

export function createCheckpointer({ journal, index, registry, heads, signersOf, rootAt, clock }: CheckpointerParts): Checkpointer {
  const trees = new Map<string, Growing>()

  async function treeOf(workspace: string): Promise<Growing> {
    const known = trees.get(workspace)
    if (known !== undefined) return known
    const document = await registry.get("workspace", workspace, workspace)
    const ledgerId = fromHex(document?.value.ledgerId ?? "")
    assert(document !== undefined && ledgerId !== undefined, "a chain belongs to a workspace")
    const saved = await index.tree(workspace)
    const size = saved?.size ?? 0
    const signed = heads.get(document.value.origin)
    // Signed under another copy of the data: what is here now is then another history, which may have grown beyond that one.
    if (signed !== undefined && signed.size <= size && !equalBytes(await rootAt(workspace, signed.size), signed.root))
      throw notSigned(signed.size)
    const last = size === 0 ? undefined : await journal.records(workspace, size, 1)
    const lastHash = last === undefined ? ledgerId : eventHash(last, sha256)
    const growing: Growing = {
      origin: document.value.origin,
      ledgerId,
      frontier: createFrontier(saved, sha256),
      lastHash,
      unsignedSinceMs: undefined,
    }
    trees.set(workspace, growing)
    return growing
  }

  return {
    name: "checkpointer",
    position: async (workspace) => (await treeOf(workspace)).frontier.size,
    unsignedSinceMs: (workspace) => trees.get(workspace)?.unsignedSinceMs,

    async take(workspace, entries) {
      const tree = await treeOf(workspace)
      const fromSize = tree.frontier.size
      const signed = heads.get(tree.origin)
      const tiles = createTileGrowth()
      try {
        for (const entry of entries) {
          const { hash, timeMs } = checkEntry(tree, entry)
          tree.frontier.append(hash, tiles.completed)
          tree.lastHash = hash
          tree.unsignedSinceMs ??= timeMs
          if (tree.frontier.size === signed?.size && !equalBytes(tree.frontier.root(), signed.root)) throw notSigned(signed.size)
        }
        const grown = await index.growTree(workspace, fromSize, tree.frontier.save(), tiles.growth())
        assert(grown, "nobody else grows this tree")
      } catch (error) {
        // The tree in memory is ahead of the one that is kept: it is read again.
        trees.delete(workspace)
        throw error
      }
    },

    async sign(workspace) {
      const tree = await treeOf(workspace)
      const before = await index.checkpoint(workspace)
      const size = tree.frontier.size
      if (size === (before?.size ?? 0)) return before
      assert(size > (before?.size ?? 0), "a tree never shrinks below what was signed")
      const signed = heads.get(tree.origin)
      // A rebuilt tree is signed again once it has reached what was signed before.
      if (signed !== undefined && signed.size > size) return before
      const root = tree.frontier.root()
      if (!heads.advance(tree.origin, { size, root })) throw new IntegrityError(`another tree of size ${size} was signed`)
      const signers = await signersOf(workspace, size, before?.size ?? 0)
      for (const { name } of signers) assert.equal(name, tree.origin, "a ledger's key has its origin's name")
      const note = signNote(formatCheckpoint({ origin: tree.origin, size, root }), ...signers)
      const checkpoint = { size, root, note, signedMs: clock.now() }
      assert(await index.putCheckpoint(workspace, before?.size ?? 0, checkpoint), "nobody else signs this tree")
      tree.unsignedSinceMs = undefined
      return checkpoint
    },
  }
}

function notSigned(size: number): IntegrityError {
  return new IntegrityError(`the first ${size} entries are not those that were signed`)
}

/** Where an entry must fit: behind the last of a tree. */
interface Place {
  readonly frontier: Pick<Frontier, "size">
  readonly ledgerId: Uint8Array
  readonly lastHash: Uint8Array
}

/** Hashes again all that was kept of an entry, and holds it against its place. */
export function checkEntry(tree: Place, { sequence, record, body, bodySalt }: Stored): { hash: Uint8Array; timeMs: number } {
  const fields = parseRecord(record)
  if (fields === undefined) throw new IntegrityError(`entry ${sequence}: the record cannot be read`)
  if (fields.index !== tree.frontier.size) throw new IntegrityError(`entry ${sequence}: the record says index ${fields.index}`)
  if (!equalBytes(fields.ledgerId, tree.ledgerId)) throw new IntegrityError(`entry ${sequence}: the record is of another ledger`)
  if (!equalBytes(fields.previousHash, tree.lastHash)) {
    throw new IntegrityError(
      `entry ${sequence}: the record follows ${toHex(fields.previousHash)}, the entry before it is ${toHex(tree.lastHash)}`,
    )
  }
  if (body === undefined || bodySalt === undefined) throw new IntegrityError(`entry ${sequence}: the body is not there`)
  if (!equalBytes(bodyHash(bodySalt, body, sha256), fields.bodyHash))
    throw new IntegrityError(`entry ${sequence}: the body has another hash`)
  return { hash: eventHash(record, sha256), timeMs: fields.timeMs }
}

interface TilesGrowing {
  readonly completed: (level: number, n: number, hash: Uint8Array) => void
  readonly growth: () => readonly TileGrowth[]
}

/** Collects what tiles gain: the complete subtrees of every eighth level. Level 0 is the records' own hashes and is not kept. */
function createTileGrowth(): TilesGrowing {
  const growing = new Map<string, { level: number; tile: number; offset: number; hashes: Uint8Array[] }>()
  return {
    completed: (level, n, hash) => {
      if (level === 0 || level % levelsPerTile !== 0) return
      const tile = Math.floor(n / tileWidth)
      const key = `${level / levelsPerTile}/${tile}`
      const known = growing.get(key)
      if (known === undefined) growing.set(key, { level: level / levelsPerTile, tile, offset: n % tileWidth, hashes: [hash] })
      else known.hashes.push(hash)
    },
    growth: () =>
      [...growing.values()].map(({ level, tile, offset, hashes }) => {
        const joined = new Uint8Array(hashes.length * hashBytes)
        for (const [place, hash] of hashes.entries()) joined.set(hash, place * hashBytes)
        return { level, tile, offset, hashes: joined }
      }),
  }
}
