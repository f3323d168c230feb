// Verifies one entry that a reader or an earlier round found broken.

import {
  equalBytes,
  eventHash,
  hashBytes,
  parseRecord,
  recordBytes,
  tileWidth,
} from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { checkContents, checkEntry } from "../store/check-entry.ts"
import { readGone } from "../store/destroyed.ts"
import { epochAt, epochsOf, keptTree, type Epoch } from "../store/epochs.ts"
import type { Workspace } from "../store/documents.ts"
import type { Stored } from "../store/entries.ts"
import type { Index, JournalReader, Registry } from "../store/store.ts"
import { readLeaves, type SignedTree } from "../store/tree-reads.ts"
import { forgedWords, type CheckpointerParts } from "./checkpointer.ts"

export interface RecheckParts extends Pick<CheckpointerParts, "isGenuine"> {
  readonly journal: JournalReader
  readonly registry: Pick<Registry, "get">
  readonly index: Pick<Index, "tiles" | "checkpoint">
}

/**
 * The fault of an entry, as a sentence; undefined if it is good, or if nothing claims that it
 * exists.
 */
export async function recheckEntry(
  parts: RecheckParts,
  document: Workspace,
  sequence: number,
): Promise<string | undefined> {
  const epoch = epochAt(epochsOf(document), sequence)
  const tree = await treeOf(parts, document, epoch)
  if (tree === "forged") return `the stored checkpoint ${forgedWords}`
  const index = sequence - 1 - epoch.before
  const [before, entry, next] = await parts.journal.at(document.id, [
    sequence - 1,
    sequence,
    sequence + 1,
  ])
  const isSigned = tree !== undefined && index < tree.size
  // A search index with more entries than exist is itself wrong.
  if (entry === undefined)
    return isSigned || next !== undefined ? `entry ${sequence}: it is missing` : undefined
  const { ledgerId } = epoch
  const previousHash =
    index === 0 ? ledgerId : ((await leafAt(parts, epoch, tree, index - 1)) ?? hashOf(before))
  if (previousHash === undefined) return `entry ${sequence - 1}: it is missing`
  const gone = (await readGone(parts.registry, document.id, [sequence]))(sequence)
  for (const checked of [
    checkEntry(entry, { ledgerId, index, previousHash }, gone),
    checkContents(entry, gone),
  ])
    if (typeof checked === "string") return `entry ${sequence}: ${checked}`
  const hash = eventHash(entry.record, sha256)
  if (isSigned) {
    const leaf = await leafAt(parts, epoch, tree, index)
    if (leaf === undefined)
      return `entry ${sequence}: the hashes in index.db do not lead from it to the root that was signed`
    return equalBytes(leaf, hash)
      ? undefined
      : `entry ${sequence}: it is not the one that was signed`
  }
  const link = next && parseRecord(next.record)?.previousHash
  return link === undefined || equalBytes(link, hash)
    ? undefined
    : `entry ${sequence}: the next entry links to another hash`
}

/**
 * The signed tree of the newest epoch, or the surviving tree of a former one, which is complete
 * once the newest epoch has a signature.
 */
async function treeOf(
  { index, isGenuine }: RecheckParts,
  document: Workspace,
  epoch: Epoch,
): Promise<SignedTree | "forged" | undefined> {
  const [newest] = epochsOf(document)
  const checkpoint = await index.checkpoint(newest.workspace, newest.number)
  if (checkpoint === undefined) return undefined
  if (!(await isGenuine(document, checkpoint))) return "forged"
  return keptTree(epoch) ?? checkpoint
}

async function leafAt(
  parts: RecheckParts,
  epoch: Epoch,
  tree: SignedTree | undefined,
  index: number,
): Promise<Uint8Array | undefined> {
  if (tree === undefined || index >= tree.size) return undefined
  const leaves = await readLeaves(parts, epoch, tree, Math.floor(index / tileWidth))
  const at = (index % tileWidth) * hashBytes
  return leaves?.subarray(at, at + hashBytes)
}

function hashOf(entry: Stored | undefined): Uint8Array | undefined {
  return entry?.record.length === recordBytes ? eventHash(entry.record, sha256) : undefined
}
