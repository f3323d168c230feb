// What waits in a workspace's line.

import type { Link } from "../store/opened-entry.ts"
import type { Limits } from "../limits.ts"
import type { Change } from "../store/store.ts"
import type { SealedEntry } from "./seal.ts"

/** What became of an entry: it has its place, or an earlier one has its key. */
export type Placed =
  | { readonly kind: "placed"; readonly link: Link }
  | { readonly kind: "used"; readonly sequence: number }

export interface Chain {
  readonly workspace: string
  readonly ledgerId: Uint8Array
  /** Entries that the ledger goes on from, which its sequences count and its indexes do not. */
  readonly before: number
}

/** Entries that were handed in together, and who is told of them. */
export interface Submission {
  readonly chain: Chain
  changes: readonly Change[]
  readonly placed: (Placed | undefined)[]
  /** Those that have no place yet. */
  waiting: readonly Waiting[]
  /** It was in a group before, and some of it is left. */
  again: boolean
  relinks: number
  resolve(placed: readonly Placed[]): void
  reject(error: unknown): void
}

export interface Waiting {
  readonly sealed: SealedEntry
  readonly place: number
  readonly submission: Submission
}

/**
 * Takes submissions from the front of a line until they are enough for a group; one is never
 * divided. Lines that start at once have as much together as one has alone, so that they can share
 * a commit.
 */
export function takeGroup(
  line: Submission[],
  { commitEntriesMax, commitBytesMax }: Pick<Limits, "commitEntriesMax" | "commitBytesMax">,
  linesAtOnce: number,
): readonly Submission[] {
  let [count, entries, bytes] = [0, 0, 0]
  for (const { waiting, again } of line) {
    // Those that were refused for a companion's sake go without newcomers, who could have them
    // refused again, and so on for ever.
    if (count > 0 && line[0]?.again === true && !again) break
    count += 1
    entries += waiting.length
    for (const { sealed } of waiting) bytes += sealed.body.length + sealed.disclosures.length
    if (entries * linesAtOnce >= commitEntriesMax || bytes * linesAtOnce >= commitBytesMax) break
  }
  return line.splice(0, count)
}
