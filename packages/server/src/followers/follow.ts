// Follows the journal: each follower from its own position, all of them from one read, a batch at a
// time, every workspace in turn.

import { strict as assert } from "node:assert"
import type { Limits } from "../limits.ts"
import { splitRows, type LinkedRows } from "../store/linked-rows.ts"
import type { JournalReader } from "../store/store.ts"

export interface Follower {
  readonly name: string
  /** The last entry of a workspace that was taken. */
  position(workspace: string): Promise<number>
  /**
   * Takes the entries that follow the position. Idempotent up to a crash: what was half taken is
   * given again.
   */
  take(workspace: string, pieces: readonly LinkedRows[]): Promise<void>
}

export interface FollowStep {
  /** How far the slowest has come, and each of them. */
  readonly position: number
  readonly positions: Readonly<Record<string, number>>
  /** Where the chain ended before it was read, and whether that is how far they have come. */
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
