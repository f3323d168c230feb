// Checks one piece of a chain from its bytes alone: each record, its link, the hash of its body,
// and the piece's part of the tree. The first entry is compared with the stored record before it,
// which the piece before checks.

import {
  createFrontier,
  fromUtf8,
  isJsonObject,
  kinds,
  openBody,
  parseJson,
  type SavedFrontier,
} from "@tallystick/proof"
import { disclosuresOf } from "../../store/opened-entry.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { readGone, type GoneAt } from "../../store/destroyed.ts"
import { createLinkedChain, type LinkedChain } from "../../store/linked-chain.ts"
import { bodilessIn, leafBytes, type LinkedRows } from "../../store/linked-rows.ts"
import type { Whole } from "../../store/whole-ledger.ts"

/**
 * Entries of a piece: a power of two, so that each piece is one subtree. It takes some ten
 * milliseconds.
 */
export const pieceEntries = 4096
/** Levels of the tree within a piece. */
export const pieceLevels = Math.log2(pieceEntries)
/** The level of the subtrees that a piece reports, from which tiles are made. */
export const tileLevel = 8

export interface Piece {
  readonly workspace: string
  readonly ledger: Uint8Array
  /** Entries of earlier epochs. The other numbers count from the first entry of this epoch. */
  readonly before: number
  /** A multiple of `pieceEntries`. */
  readonly after: number
  /** Entries up to here must exist. */
  readonly upTo: number
  /** Sizes at which the caller wants the piece's part of the tree, in order. */
  readonly counts: readonly number[]
}

export interface PieceResult {
  /** Entries before the first broken one. */
  readonly entries: number
  /** The fault of the next entry, if there is one. */
  readonly wrong: string | undefined
  /** The piece's part of the tree at each of `counts`, as far as it came, and at its end. */
  readonly edges: readonly SavedFrontier[]
  /** Hashes of its complete subtrees of `tileLevel`, concatenated. */
  readonly subtrees: Uint8Array
  /** The keys that its entries announce. */
  readonly vkeys: readonly string[]
}

/** Where a leaf says which kind its entry is. */
const kindAt = 5

export async function walkPiece(whole: Whole, piece: Piece): Promise<PieceResult> {
  const { workspace, before, upTo, counts } = piece
  const chain = await chainAfter(whole, piece)
  const tree = createFrontier(undefined, sha256)
  const edges: SavedFrontier[] = []
  const subtrees: Uint8Array[] = []
  const announcing: number[] = []
  const completed = (level: number, _: number, hash: Uint8Array): void => {
    if (level === tileLevel) subtrees.push(hash)
  }
  let wrong: string | undefined
  const take = (rows: LinkedRows, goneAt: GoneAt): string | undefined => {
    const taken = (leaf: Uint8Array, at: number): void => {
      if (rows.leaves[at * leafBytes + kindAt] === kinds.key || chain.index === 1)
        announcing.push(before + chain.index)
      tree.append(leaf, completed)
      if (counts.includes(tree.size)) edges.push(tree.save())
    }
    return chain.take(rows, taken, goneAt)
  }
  while (wrong === undefined && chain.index < upTo) {
    const pieces = await whole.journal.linked(
      workspace,
      before + chain.index,
      Math.min(whole.entriesPerRead, upTo - chain.index),
    )
    if (pieces.length === 0) wrong = "it and all later entries are missing"
    const goneAt = await readGone(whole.registry, workspace, bodilessIn(pieces))
    for (const rows of pieces) wrong ??= take(rows, goneAt)
  }
  const vkeys: string[] = []
  for (const sequence of announcing) vkeys.push(...(await announced(whole, workspace, sequence)))
  return {
    entries: tree.size,
    wrong,
    edges: [...edges, tree.save()],
    subtrees: Buffer.concat(subtrees),
    vkeys,
  }
}

async function chainAfter(
  whole: Whole,
  { workspace, ledger, before, after }: Piece,
): Promise<LinkedChain> {
  const [last] = after === 0 ? [] : await whole.journal.linked(workspace, before + after - 1, 1)
  return createLinkedChain(ledger, before, after, last?.leaves.subarray(1))
}

/** The key that an entry announces, if it announces one. */
async function announced(
  { journal }: Whole,
  workspace: string,
  sequence: number,
): Promise<readonly string[]> {
  return (await journal.after(workspace, sequence - 1, 1)).flatMap((entry) => {
    const parsed = parseJson(fromUtf8(entry.body ?? new Uint8Array()) ?? "")
    const opened = isJsonObject(parsed) ? openBody(parsed, disclosuresOf(entry), sha256) : undefined
    const metadata = opened?.ok === true ? opened.value["metadata"] : undefined
    const vkey = isJsonObject(metadata) ? metadata["vkey"] : undefined
    return typeof vkey === "string" ? [vkey] : []
  })
}
