// Gives each follower the entries after its position, in batches. One read serves all followers.

import { strict as assert } from "node:assert"
import type { Limits } from "../limits.ts"
import { splitRows, type LinkedRows } from "../store/linked-rows.ts"
import type { JournalReader } from "../store/store.ts"

export interface Follower {
  readonly name: string
  /** The last entry that it has taken of a workspace. */
  position(workspace: string): Promise<number>
  /**
   * Takes the entries after the position. Idempotent: after a crash it gets half-taken entries
   * again.
   */
  take(workspace: string, pieces: readonly LinkedRows[]): Promise<void>
}

export interface FollowStep {
  /** The position of the slowest follower, and of each follower. */
  readonly position: number
  readonly positions: Readonly<Record<string, number>>
  /** The end of the chain before the read, and whether all followers have reached it. */
  readonly end: number
  readonly caughtUp: boolean
}

/** Gives each follower the next entries of a workspace. */
export async function followOnce(
  journal: JournalReader,
  followers: readonly Follower[],
  workspace: string,
  limits: Limits,
): Promise<FollowStep> {
  const positions = await Promise.all(followers.map((follower) => follower.position(workspace)))
  const from = Math.min(...positions)
  const end = (await journal.head(workspace))?.sequence ?? 0
  const pieces = await journal.linked(workspace, from, limits.followEntriesMax)
  let position = from
  for (const { sequences } of pieces)
    for (const sequence of sequences)
      assert.equal(sequence, ++position, "the journal gives entries in order and without a gap")
  for (const [at, follower] of followers.entries()) {
    const [, fresh] = splitRows(pieces, (positions[at] ?? 0) - from)
    if (fresh.length > 0) await follower.take(workspace, fresh)
  }
  return {
    position,
    positions: Object.fromEntries(
      followers.map(({ name }, at) => [name, Math.max(positions[at] ?? 0, position)]),
    ),
    end: Math.max(end, position),
    caughtUp: pieces.length === 0,
  }
}
