// One workspace's entries, held one after the other against the chain, what stands beside them
// against their bodies, and all of them against the tree that was signed.

import {
  createChain,
  createFrontier,
  equalBytes,
  recordBytes,
  type Chain,
  type Frontier,
} from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { checkContents } from "../store/check-entry.ts"
import { epochsOf, type Epoch } from "../store/epochs.ts"
import type { SignedHead } from "../store/heads.ts"
import type { Document, JournalReader, Tree } from "../store/store.ts"
import { IntegrityError, takeOrBreak } from "./checkpointer.ts"

export interface Walk {
  readonly workspace: string
  /** The epochs that are left; the first of them is being walked. */
  epochs: readonly [Epoch, ...Epoch[]]
  /** Over the entries of that one that were walked. */
  frontier: Frontier
  chain: Chain
  /**
   * Where it ended when its turn came: a workspace that is written to all the time would have no
   * end.
   */
  readonly end: number
  /** What was signed of the newest epoch by then. */
  readonly signed: SignedHead | undefined
}

/** A larger entry counts as several: it is bytes that are read and hashed. */
const bytesPerEntry = 4096

/**
 * Goes on behind the entries of a tree, which is that of the epoch of this number; undefined when
 * the last of them is not there any more. `signed` is what was signed before this.
 */
export async function openWalk(
  journal: JournalReader,
  document: Document<"workspace">,
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

/** The sequence of the last entry that was walked. */
export function reached({ epochs: [{ before }], frontier }: Walk): number {
  return before + frontier.size
}

/**
 * Walks some entries; says how many, and how many ordinary ones that was worth. Throws an
 * IntegrityError at what does not hold.
 */
export async function walkOn(
  journal: JournalReader,
  walk: Walk,
  budget: number,
): Promise<{ readonly count: number; readonly spent: number }> {
  beginNext(walk)
  const { workspace, frontier, chain, end } = walk
  const [epoch] = walk.epochs
  const { before } = epoch
  const wanted = Math.min(Math.max(budget, 1), (epoch.end ?? end) - reached(walk))
  const entries = wanted === 0 ? [] : await journal.after(workspace, reached(walk), wanted)
  if (wanted > 0 && entries.length === 0)
    throw new IntegrityError(`entry ${reached(walk) + 1}: it is missing`, reached(walk) + 1)
  // Of a former epoch only what was kept can be asked for: the next one's genesis says what that
  // was.
  const signed =
    epoch.end === undefined || epoch.root === undefined
      ? walk.signed
      : { size: epoch.end - before, root: epoch.root }
  let spent = 0
  for (const entry of entries) {
    takeOrBreak(chain, before, entry)
    const contents = checkContents(entry)
    if (typeof contents === "string")
      throw new IntegrityError(`entry ${entry.sequence}: ${contents}`, entry.sequence)
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

/** An epoch that was walked to its end is followed by the next, with a tree of its own. */
function beginNext(walk: Walk): void {
  const [{ end }, next, ...later] = walk.epochs
  if (next === undefined || reached(walk) !== end) return
  walk.epochs = [next, ...later]
  walk.frontier = createFrontier(undefined, sha256)
  walk.chain = createChain(next.ledgerId, sha256)
}

/** What every sentence about the tree ends with. */
const treeWords = "that were signed"

export function isOfTree(detail: string): boolean {
  return detail.endsWith(treeWords)
}
