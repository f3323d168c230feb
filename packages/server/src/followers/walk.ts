// One workspace's entries, held one after the other against the chain, what stands beside them against their bodies, and all of them
// against the tree that was signed.

import { createFrontier, equalBytes, eventHash, isJsonObject, openBody, parseJson, recordBytes, type Frontier } from "@tallystick/proof"
import { disclosuresOf } from "../entry.ts"
import { sha256 } from "../sha256.ts"
import { epochsOf, type Epoch } from "../store/epochs.ts"
import type { SignedHead } from "../store/heads.ts"
import type { Document, JournalReader, Stored, Tree } from "../store/store.ts"
import { checkEntry, IntegrityError, type Place } from "./checkpointer.ts"

export interface Walk {
  readonly workspace: string
  readonly serial: number
  /** The epochs that are left; the first of them is being walked. */
  epochs: readonly [Epoch, ...Epoch[]]
  /** Over the entries of that one that were walked. */
  frontier: Frontier
  lastHash: Uint8Array
  /** Where it ended when its turn came: a workspace that is written to all the time would have no end. */
  readonly end: number
  /** What was signed of the newest epoch by then. */
  readonly signed: SignedHead | undefined
}

/** A larger entry counts as several: it is bytes that are read and hashed. */
const bytesPerEntry = 4096

/**
 * Goes on behind the entries of a tree, which is that of the epoch of this number; undefined when the last of them is not there any more.
 * `signed` is what was signed before this.
 */
export async function openWalk(
  journal: JournalReader,
  document: Document<"workspace">,
  signed: SignedHead | undefined,
  tree: Tree,
  number = 1,
): Promise<Walk | undefined> {
  const { id: workspace, serial } = document
  const [epoch, ...later] = epochsOf(document)
    .toReversed()
    .filter((one) => one.number >= number)
  const end = (await journal.head(workspace))?.sequence ?? 0
  if (epoch === undefined || epoch.before + tree.size > (epoch.end ?? end)) return undefined
  const last = tree.size === 0 ? undefined : await journal.records(workspace, epoch.before + tree.size, 1)
  if (last !== undefined && last.length !== recordBytes) return undefined
  const lastHash = last === undefined ? epoch.ledgerId : eventHash(last, sha256)
  return { workspace, serial, epochs: [epoch, ...later], frontier: createFrontier(tree, sha256), lastHash, end, signed }
}

/** The sequence of the last entry that was walked. */
export function reached({ epochs: [{ before }], frontier }: Walk): number {
  return before + frontier.size
}

/** Walks some entries; says how many, and how many ordinary ones that was worth. Throws an IntegrityError at what does not hold. */
export async function walkOn(
  journal: JournalReader,
  walk: Walk,
  budget: number,
): Promise<{ readonly count: number; readonly spent: number }> {
  beginNext(walk)
  const { workspace, frontier, end } = walk
  const [epoch] = walk.epochs
  const { before, ledgerId } = epoch
  const wanted = Math.min(Math.max(budget, 1), (epoch.end ?? end) - reached(walk))
  const entries = wanted === 0 ? [] : await journal.after(workspace, reached(walk), wanted)
  if (wanted > 0 && entries.length === 0) throw new IntegrityError(`entry ${reached(walk) + 1}: it is not there`, reached(walk) + 1)
  // Of a former epoch only what was kept can be asked for: the next one's genesis says what that was.
  const signed = epoch.end === undefined || epoch.root === undefined ? walk.signed : { size: epoch.end - before, root: epoch.root }
  let spent = 0
  for (const entry of entries) {
    checkStored({ before, ledgerId, frontier, lastHash: walk.lastHash }, entry)
    walk.lastHash = eventHash(entry.record, sha256)
    frontier.append(walk.lastHash)
    if (frontier.size === signed?.size && !equalBytes(frontier.root(), signed.root)) {
      throw new IntegrityError(`the first ${signed.size} entries are not those ${treeWords}`)
    }
    spent += Math.max(1, Math.ceil(((entry.body?.length ?? 0) + entry.disclosures.length) / bytesPerEntry))
  }
  if (reached(walk) === end && signed !== undefined && before + signed.size > end) {
    throw new IntegrityError(`it ends at entry ${end}, before the last of the ${before + signed.size} ${treeWords}`)
  }
  return { count: entries.length, spent }
}

/** An epoch that was walked to its end is followed by the next, with a tree of its own. */
function beginNext(walk: Walk): void {
  const [{ end }, next, ...later] = walk.epochs
  if (next === undefined || reached(walk) !== end) return
  walk.epochs = [next, ...later]
  walk.frontier = createFrontier(undefined, sha256)
  walk.lastHash = next.ledgerId
}

/** An entry against its place, and what stands beside its record and body against them. */
export function checkStored(place: Place, entry: Stored): void {
  checkEntry(place, entry)
  const { sequence, body, receipt, idem } = entry
  const parsed = body === undefined ? undefined : parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
  if (!isJsonObject(parsed)) throw new IntegrityError(`entry ${sequence}: the body cannot be read`)
  if (parsed["receipt"] !== receipt || parsed["idem"] !== idem)
    throw new IntegrityError(`entry ${sequence}: it is filed under another name`)
  const opened = openBody(parsed, disclosuresOf(entry), sha256)
  if (!opened.ok) throw new IntegrityError(`entry ${sequence}: what is sealed in it does not fit: ${opened.reason}`)
  // Nothing is erased yet, so what is sealed is there.
  if (opened.withheld > 0) throw new IntegrityError(`entry ${sequence}: ${opened.withheld} of what is sealed in it is not there`)
}

/** What every sentence about the tree ends with. */
const treeWords = "that were signed"

export function isOfTree(detail: string): boolean {
  return detail.endsWith(treeWords)
}
