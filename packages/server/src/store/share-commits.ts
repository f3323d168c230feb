// Decides which groups share a transaction: all waiting groups, in the order of their arrival, so
// that one fsync serves them all. A workspace has one group here at a time, so workspaces take
// turns.

import { strict as assert } from "node:assert"
import type { Limits } from "../limits.ts"
import { bytesOf, type Group, type Outcome } from "./entries.ts"
import type { Journal } from "./store.ts"

export type CommitLimits = Pick<Limits, "commitEntriesMax" | "commitBytesMax">

interface Waiting {
  readonly group: Group
  readonly resolve: (outcome: Outcome | Promise<Outcome>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Appends groups in shared commits. If a commit fails, the outcome of each of its groups is
 * unknown. An outcome that is late does not delay other groups.
 */
export function shareCommits(
  limits: CommitLimits,
  commit: (groups: readonly Group[]) => Promise<readonly (Outcome | Promise<Outcome>)[]>,
): Journal["append"] {
  const waiting: Waiting[] = []
  let isRunning = false

  return (group) =>
    new Promise((resolve, reject) => {
      waiting.push({ group, resolve, reject })
      if (isRunning) return
      isRunning = true
      // Runs after all appends of this turn of the event loop, so that they share the first commit.
      process.nextTick(() => void run())
    })

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const shared = take(waiting, limits)
      try {
        const outcomes = await commit(shared.map(({ group }) => group))
        assert.equal(outcomes.length, shared.length, "a commit answers for each of its groups")
        for (const [place, outcome] of outcomes.entries()) shared[place]?.resolve(outcome)
      } catch (error) {
        for (const { reject } of shared) reject(error)
      }
      // Callers that got their answer append again in the next turn, and then share the next
      // commit: a larger commit costs less per group.
      await new Promise((resolve) => process.nextTick(() => setImmediate(resolve)))
    }
    isRunning = false
  }
}

/** Takes groups from the front until a commit is full. */
function take(
  waiting: Waiting[],
  { commitEntriesMax, commitBytesMax }: CommitLimits,
): readonly Waiting[] {
  let [count, entries, bytes] = [0, 0, 0]
  for (const { group } of waiting) {
    count += 1
    entries += group.entries.length
    for (const entry of group.entries) bytes += bytesOf(entry)
    if (entries >= commitEntriesMax || bytes >= commitBytesMax) break
  }
  return waiting.splice(0, count)
}
