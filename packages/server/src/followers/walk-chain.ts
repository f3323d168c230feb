// Verifies one workspace's entries in order: each against the chain, everything stored with it
// against its body, and all of them against the signed tree.

import {
  createChain,
  createFrontier,
  equalBytes,
  recordBytes,
  type Chain,
  type Frontier,
} from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { checkContents, takeEntry } from "../store/check-entry.ts"
import { readGone } from "../store/destroyed.ts"
import { epochsOf, keptTree, type Epoch } from "../store/epochs.ts"
import type { SignedHead } from "../store/heads.ts"
import type { Workspace } from "../store/documents.ts"
import type { Tree } from "../store/index-state.ts"
import type { JournalReader } from "../store/store.ts"
import { brokenAt, IntegrityError, type CheckpointerParts } from "./checkpointer.ts"

export interface Walk {
  readonly workspace: string
  /** The remaining epochs; the first of them is being verified. */
  epochs: readonly [Epoch, ...Epoch[]]
  /** The tree over the verified entries of that epoch. */
  frontier: Frontier
  chain: Chain
  /**
   * The last sequence when the walk began. Without it, a walk of a busy workspace would never end.
   */
  readonly end: number
  /** The signed head of the newest epoch at that time. */
  readonly signed: SignedHead | undefined
}

/** A larger entry counts as several, because the cost is in its bytes. */
const bytesPerEntry = 4096

/**
 * Continues after the entries of a tree, that of the epoch of this number. Undefined if the last of
 * them is missing. `signed` is the head that was signed before.
 */
export async function openWalk(
  journal: JournalReader,
  document: Workspace,
  signed: SignedHead | undefined,
  tree: Tree,
  number = 1,
): Promise<Walk | undefined> {
  const { id: workspace } = document
  const [epoch, ...later] = epochsOf(document)
    .toReversed()
    .filter((one) => one.number >= number)
  const end = (await journal.head(workspace))?.sequence ?? 0
  if (epoch === undefined || epoch.before + tree.size > (epoch.end ?? end)) return undefined
  const last =
    tree.size === 0 ? undefined : await journal.records(workspace, epoch.before + tree.size, 1)
  if (last !== undefined && last.length !== recordBytes) return undefined
  const chain = createChain(epoch.ledgerId, sha256, tree.size, last)
  return {
    workspace,
    epochs: [epoch, ...later],
    frontier: createFrontier(tree, sha256),
    chain,
    end,
    signed,
  }
}

/** The sequence of the last verified entry. */
export function reached({ epochs: [{ before }], frontier }: Walk): number {
  return before + frontier.size
}

/**
 * Verifies some entries. Returns how many, and their cost in ordinary entries. Throws an
 * IntegrityError at a broken one.
 */
export async function walkOn(
  { journal, registry }: Pick<CheckpointerParts, "journal" | "registry">,
  walk: Walk,
  budget: number,
): Promise<{ readonly count: number; readonly spent: number }> {
  beginNext(walk)
  const { workspace, frontier, chain, end } = walk
  const [epoch] = walk.epochs
  const { before } = epoch
  const wanted = Math.min(Math.max(budget, 1), (epoch.end ?? end) - reached(walk))
  const entries = wanted === 0 ? [] : await journal.after(workspace, reached(walk), wanted)
  if (wanted > 0 && entries.length === 0) throw brokenAt(reached(walk) + 1, "it is missing")
  // A former epoch must have the entries that were kept: the next one's genesis says which.
  const signed = keptTree(epoch) ?? walk.signed
  let spent = 0
  const goneAt = await readGone(
    registry,
    workspace,
    entries.map(({ sequence }) => sequence),
  )
  for (const entry of entries) {
    const gone = goneAt(entry.sequence)
    const taken = takeEntry(chain, before, entry, gone)
    if (typeof taken === "string") throw brokenAt(reached(walk) + 1, taken)
    const contents = checkContents(entry, gone)
    if (typeof contents === "string") throw brokenAt(entry.sequence, contents)
    frontier.append(chain.previousHash)
    if (frontier.size === signed?.size && !equalBytes(frontier.root(), signed.root)) {
      throw new IntegrityError(`the first ${signed.size} entries are not those ${treeWords}`)
    }
    spent += Math.max(
      1,
      Math.ceil(((entry.body?.length ?? 0) + entry.disclosures.length) / bytesPerEntry),
    )
  }
  if (reached(walk) === end && signed !== undefined && before + signed.size > end) {
    throw new IntegrityError(
      `it ends at entry ${end}, before the last of the ${before + signed.size} ${treeWords}`,
    )
  }
  return { count: entries.length, spent }
}

/** After the end of an epoch, begins the next one, with a tree of its own. */
function beginNext(walk: Walk): void {
  const [{ end }, next, ...later] = walk.epochs
  if (next === undefined || reached(walk) !== end) return
  walk.epochs = [next, ...later]
  walk.frontier = createFrontier(undefined, sha256)
  walk.chain = createChain(next.ledgerId, sha256)
}

/** The end of every sentence about the tree. */
const treeWords = "that were signed"

export function isOfTree(detail: string): boolean {
  return detail.endsWith(treeWords)
}
