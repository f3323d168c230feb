// Hashes again all that is kept of a ledger, from its first entry on, and holds it against what was signed.

import { createFrontier, equalBytes } from "@tallystick/proof"
import { recheck } from "./ledger/recheck.ts"
import { sha256 } from "./sha256.ts"
import type { SignedHead } from "./store/heads.ts"
import type { Document, JournalReader } from "./store/store.ts"

export interface Rehashed {
  readonly workspace: string
  readonly origin: string
  readonly entries: number
  /** Of the last entry; of none, if there is none. */
  readonly hash: Uint8Array | undefined
  /** What does not hold together, as a sentence. */
  readonly broken: string | undefined
  readonly signed: SignedHead | undefined
  /** Whether the entries begin with those that were signed: `ahead` has more of them, `behind` has fewer, `apart` has others. */
  readonly standing: "equal" | "ahead" | "behind" | "apart"
}

export async function rehash(
  journal: JournalReader,
  workspace: Document<"workspace">,
  signed: SignedHead | undefined,
  progress: (workspace: string, done: number) => void,
): Promise<Rehashed> {
  const tree = createFrontier(undefined, sha256)
  let last: Uint8Array | undefined
  let isSame = true
  const broken = await recheck(journal, workspace, Number.MAX_SAFE_INTEGER, (sequence, hash) => {
    tree.append(hash)
    last = hash
    if (sequence === signed?.size) isSame = equalBytes(tree.root(), signed.root)
    if (sequence % entriesPerStep === 0) progress(workspace.id, sequence)
  })
  const size = signed?.size ?? 0
  const standing = !isSame ? "apart" : tree.size < size ? "behind" : tree.size > size ? "ahead" : "equal"
  return { workspace: workspace.id, origin: workspace.value.origin, entries: tree.size, hash: last, broken, signed, standing }
}

const entriesPerStep = 10_000

/** Why these entries are not, or are no longer, those that were signed. */
export function lossOf({ workspace, entries, signed, standing }: Rehashed): string | undefined {
  if (standing === "behind") return `workspace ${workspace} ends at entry ${entries}, and ${signed?.size} were signed`
  if (standing === "apart") return `the first ${signed?.size} entries of workspace ${workspace} are not those that were signed`
  return undefined
}
