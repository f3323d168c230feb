// Hashes again all that is kept of a ledger, from its first entry on, and holds it against what was signed.

import { createFrontier, equalBytes } from "@tallystick/proof"
import { recheck } from "../ledger/recheck.ts"
import { sha256 } from "../runtime/sha256.ts"
import { epochAt, epochsOf } from "../store/epochs.ts"
import type { SignedHead } from "../store/heads.ts"
import type { Document, JournalReader } from "../store/store.ts"

export interface Rehashed {
  readonly workspace: string
  /** Of the newest epoch, like all that is said of a size, of a root and of what was signed. */
  readonly origin: string
  /** Of earlier epochs. */
  readonly before: number
  /** Of all epochs. */
  readonly entries: number
  readonly size: number
  readonly root: Uint8Array
  /** Of the last entry; of none, if there is none. */
  readonly hash: Uint8Array | undefined
  /** What does not hold together, as a sentence. */
  readonly broken: string | undefined
  readonly signed: SignedHead | undefined
  /** Whether the entries begin with those that were signed: `ahead` has more of them, `behind` has fewer, `apart` has others. */
  readonly standing: "equal" | "ahead" | "behind" | "apart"
  /** Whether they begin with those of the given checkpoint. */
  readonly isUnderCheckpoint: boolean
}

export async function rehash(
  journal: JournalReader,
  workspace: Document<"workspace">,
  signed: SignedHead | undefined,
  progress: (workspace: string, done: number) => void,
  checkpoint?: SignedHead,
): Promise<Rehashed> {
  const epochs = epochsOf(workspace)
  const [{ origin, before }] = epochs
  let tree = createFrontier(undefined, sha256)
  let last: Uint8Array | undefined
  let isSame = true
  let isUnderCheckpoint = false
  let unlike: string | undefined
  const broken = await recheck(journal, workspace, Number.MAX_SAFE_INTEGER, (sequence, hash) => {
    const epoch = epochAt(epochs, sequence)
    if (sequence === epoch.before + 1) tree = createFrontier(undefined, sha256)
    tree.append(hash)
    last = hash
    if (sequence === epoch.end && epoch.root !== undefined && !equalBytes(tree.root(), epoch.root))
      unlike ??= `the entries of workspace ${workspace.id} up to entry ${sequence} are not those that the next epoch goes on from`
    if (epoch.end === undefined && tree.size === signed?.size) isSame = equalBytes(tree.root(), signed.root)
    if (epoch.end === undefined && tree.size === checkpoint?.size) isUnderCheckpoint = equalBytes(tree.root(), checkpoint.root)
    if (sequence % entriesPerStep === 0) progress(workspace.id, sequence)
  })
  const size = signed?.size ?? 0
  const standing = !isSame ? "apart" : tree.size < size ? "behind" : tree.size > size ? "ahead" : "equal"
  const root = tree.root()
  const found = { size: tree.size, root, hash: last, broken: broken ?? unlike, signed, standing, isUnderCheckpoint } as const
  return { workspace: workspace.id, origin, before, entries: before + tree.size, ...found }
}

const entriesPerStep = 10_000

/** Why these entries are not, or are no longer, those that were signed. */
export function lossOf({ workspace, before, entries, signed, standing }: Rehashed): string | undefined {
  const end = before + (signed?.size ?? 0)
  if (standing === "behind") return `workspace ${workspace} ends at entry ${entries}, and ${end} were signed`
  if (standing === "apart") return `the first ${end} entries of workspace ${workspace} are not those that were signed`
  return undefined
}
