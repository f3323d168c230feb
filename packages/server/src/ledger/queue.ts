// What waits for a commit, by workspace, and who goes next.

import type { Link } from "../entry.ts"
import type { Limits } from "../limits.ts"
import type { Change } from "../store/store.ts"
import type { Sealed } from "./seal.ts"

/** What became of an entry: it has its place, or an earlier one has its key. */
export type Placed = { readonly kind: "placed"; readonly link: Link } | { readonly kind: "used"; readonly sequence: number }

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
  /** It was in a commit before, and some of it is left. */
  again: boolean
  relinks: number
  resolve(placed: readonly Placed[]): void
  reject(error: unknown): void
}

export interface Waiting {
  readonly sealed: Sealed
  readonly place: number
  readonly submission: Submission
}

export interface Queue {
  add(submission: Submission, where: "first" | "last"): void
  /**
   * Takes a submission of each workspace in turn until the commit is large enough; those of one workspace together. A submission is
   * never divided. Whoever was served goes behind those who were not.
   */
  take(): Submission[][]
  isEmpty(): boolean
}

export function createQueue(limits: Limits): Queue {
  const queues = new Map<string, Submission[]>()

  /** The next submission of a workspace, which then goes behind the others. */
  const next = (workspace: string, queue: Submission[]): Submission | undefined => {
    const submission = queue.shift()
    queues.delete(workspace)
    if (queue.length > 0) queues.set(workspace, queue)
    return submission
  }

  return {
    isEmpty: () => queues.size === 0,
    add(submission, where) {
      const { workspace } = submission.chain
      const queue = queues.get(workspace)
      if (queue === undefined) queues.set(workspace, [submission])
      else if (where === "last") queue.push(submission)
      else queue.unshift(submission)
    },
    take() {
      const taken = new Map<string, Submission[]>()
      let entries = 0
      let bytes = 0
      // A workspace that is put back at the end is met again in the same loop.
      for (const [workspace, queue] of queues) {
        const mine = taken.get(workspace)
        // Those that were refused for a companion's sake go without newcomers, who could have them refused again, and so on for ever.
        if (mine?.[0]?.again === true && queue[0]?.again === false) continue
        const submission = next(workspace, queue)
        if (submission === undefined) continue
        if (mine === undefined) taken.set(workspace, [submission])
        else mine.push(submission)
        entries += submission.waiting.length
        for (const { sealed } of submission.waiting) bytes += sealed.body.length + sealed.disclosures.length
        if (entries >= limits.commitEntriesMax || bytes >= limits.commitBytesMax) break
      }
      return [...taken.values()]
    },
  }
}
