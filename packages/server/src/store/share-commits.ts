// Decides which groups share a transaction: all waiting groups, in the order of their arrival, so
// that one fsync serves them all. A workspace has one group here at a time, so workspaces take
// turns. Small groups do not wait for large ones that came before: every second commit is theirs.

import { assert } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import { bytesOf, type Group, type Outcome } from "./entries.ts"
import type { Journal } from "./store.ts"

export type CommitLimits = Pick<Limits, "commitEntriesMax" | "commitBytesMax">

interface Waiting {
  readonly group: Group
  readonly entries: number
  readonly bytes: number
  readonly resolve: (outcome: Outcome | Promise<Outcome>) => void
  readonly reject: (error: unknown) => void
}

/** A commit of this part of its limits takes hardly longer than its fsync. */
const shortPart = 1 / 8

/**
 * Appends groups in shared commits. If a commit fails, the outcome of each of its groups is
 * unknown. An outcome that is late does not delay other groups.
 */
export function shareCommits(
  limits: CommitLimits,
  commit: (groups: readonly Group[]) => Promise<readonly (Outcome | Promise<Outcome>)[]>,
): Journal["append"] {
  let waiting: Waiting[] = []
  let isRunning = false

  return (group) =>
    new Promise((resolve, reject) => {
      const { entries } = group
      const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0)
      waiting.push({ group, entries: entries.length, bytes, resolve, reject })
      if (isRunning) return
      isRunning = true
      // Runs after all appends of this turn of the event loop, so that they share the first commit.
      process.nextTick(() => void run())
    })

  async function run(): Promise<void> {
    let areSmall = false
    while (waiting.length > 0) {
      const small: readonly Waiting[] = areSmall ? [] : smallOf(waiting, limits)
      areSmall = small.length > 0
      const shared = new Set(areSmall ? small : firstOf(waiting, limits))
      waiting = waiting.filter((one) => !shared.has(one))
      await commitAll([...shared])
      // Callers that got their answer append again in the next turn, and then share the next
      // commit: a larger commit costs less per group.
      await new Promise((resolve) => process.nextTick(() => setImmediate(resolve)))
    }
    isRunning = false
  }

  async function commitAll(shared: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await commit(shared.map(({ group }) => group))
      assert(outcomes.length === shared.length, "a commit answers for each of its groups")
      for (const [place, outcome] of outcomes.entries()) shared[place]?.resolve(outcome)
    } catch (error) {
      for (const { reject } of shared) reject(error)
    }
  }
}

/**
 * The groups that take no more than their share of a short commit. Empty if a commit of their own
 * would save nothing.
 */
function smallOf(
  waiting: readonly Waiting[],
  { commitEntriesMax, commitBytesMax }: CommitLimits,
): readonly Waiting[] {
  const most = { entries: commitEntriesMax * shortPart, bytes: commitBytesMax * shortPart }
  const sum = (of: "entries" | "bytes") => waiting.reduce((all, one) => all + one[of], 0)
  if (sum("entries") <= most.entries && sum("bytes") <= most.bytes) return []
  const [entriesMax, bytesMax] = [most.entries / waiting.length, most.bytes / waiting.length]
  const small = waiting.filter(
    ({ entries, bytes }) => entries <= Math.max(entriesMax, 1) && bytes <= bytesMax,
  )
  return small.length === waiting.length ? [] : small
}

/** The first groups, until a commit is full. */
function firstOf(
  waiting: readonly Waiting[],
  { commitEntriesMax, commitBytesMax }: CommitLimits,
): readonly Waiting[] {
  let [count, entries, bytes] = [0, 0, 0]
  for (const one of waiting) {
    count += 1
    entries += one.entries
    bytes += one.bytes
    if (entries >= commitEntriesMax || bytes >= commitBytesMax) break
  }
  return waiting.slice(0, count)
}
