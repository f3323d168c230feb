// Hashes every entry of a workspace again, and compares the result with what was signed.

import { createFrontier, equalBytes } from "@tallystick/proof"
import { recheck, type CheckedJournal } from "../ledger/recheck.ts"
import { sha256 } from "../runtime/sha256.ts"
import { epochAt, epochsOf } from "../store/epochs.ts"
import { endsBefore } from "./check-store.ts"
import type { SignedHead } from "../store/heads.ts"
import type { Workspace } from "../store/documents.ts"

export interface RehashResult {
  readonly workspace: string
  /** Origin of the newest epoch. Size, root, signed head and comparison belong to this epoch too. */
  readonly origin: string
  readonly before: number
  readonly entries: number
  readonly size: number
  readonly root: Uint8Array
  /** Hash of the last entry. Undefined if there is none. */
  readonly hash: Uint8Array | undefined
  /** The first fault in the chain, as a sentence. */
  readonly broken: string | undefined
  readonly signed: SignedHead | undefined
  /**
   * The entries against those that were signed: `ahead` has more, `behind` has fewer, `different` has
   * others.
   */
  readonly againstSigned: "equal" | "ahead" | "behind" | "different"
  /** Whether the entries begin with those of the given checkpoint. */
  readonly isUnderCheckpoint: boolean
}

export async function rehash(
  checked: CheckedJournal,
  workspace: Workspace,
  signed: SignedHead | undefined,
  progress: (workspace: string, done: number) => void,
  checkpoint?: SignedHead,
): Promise<RehashResult> {
  const epochs = epochsOf(workspace)
  const [{ origin, before }] = epochs
  let tree = createFrontier(undefined, sha256)
  let last: Uint8Array | undefined
  let isSame = true
  let isUnderCheckpoint = false
  let unlike: string | undefined
  const broken = await recheck(checked, workspace, Number.MAX_SAFE_INTEGER, (sequence, hash) => {
    const epoch = epochAt(epochs, sequence)
    if (sequence === epoch.before + 1) tree = createFrontier(undefined, sha256)
    tree.append(hash)
    last = hash
    if (sequence === epoch.end && epoch.root !== undefined && !equalBytes(tree.root(), epoch.root))
      unlike ??= `the entries of workspace ${workspace.id} up to entry ${sequence} are not those that the next epoch goes on from`
    if (epoch.end === undefined && tree.size === signed?.size)
      isSame = equalBytes(tree.root(), signed.root)
    if (epoch.end === undefined && tree.size === checkpoint?.size)
      isUnderCheckpoint = equalBytes(tree.root(), checkpoint.root)
    if (sequence % entriesPerStep === 0) progress(workspace.id, sequence)
  })
  const size = signed?.size ?? 0
  const order = tree.size < size ? "behind" : tree.size > size ? "ahead" : "equal"
  return {
    workspace: workspace.id,
    origin,
    before,
    entries: before + tree.size,
    size: tree.size,
    root: tree.root(),
    hash: last,
    broken: broken ?? unlike,
    signed,
    againstSigned: isSame ? order : "different",
    isUnderCheckpoint,
  }
}

const entriesPerStep = 10_000

/** What is missing or different from what was signed, as a sentence. */
export function lossOf({
  workspace,
  before,
  entries,
  signed,
  againstSigned,
}: RehashResult): string | undefined {
  const end = before + (signed?.size ?? 0)
  return againstSigned === "different"
    ? `the first ${end} entries of workspace ${workspace} are not those that were signed`
    : endsBefore(workspace, entries, end)
}
