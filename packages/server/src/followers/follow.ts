// Follows the journal: each follower from its own position, all of them from one read, a batch at a time, every workspace in turn.

import { strict as assert } from "node:assert"
import type { Limits } from "../limits.ts"
import type { JournalReader, Stored } from "../store/store.ts"

export interface Follower {
  readonly name: string
  /** The last entry of a workspace that was taken. */
  position(workspace: string): Promise<number>
  /** Takes the entries that follow the position. Idempotent up to a crash: what was half taken is given again. */
  take(workspace: string, entries: readonly Stored[]): Promise<void>
}

/**
 * Gives each follower the next entries of a workspace; says how far the slowest has come, and whether that is where the chain ended
 * when it was read.
 */
export async function followOnce(
  journal: JournalReader,
  followers: readonly Follower[],
  workspace: string,
  limits: Limits,
): Promise<{ readonly position: number; readonly caughtUp: boolean }> {
  const positions = await Promise.all(followers.map((follower) => follower.position(workspace)))
  const from = Math.min(...positions)
  const entries = await journal.after(workspace, from, limits.followEntriesMax)
  for (const [at, { sequence }] of entries.entries())
    assert.equal(sequence, from + 1 + at, "the journal gives entries in order and without a gap")
  for (const [at, follower] of followers.entries()) {
    const fresh = entries.slice((positions[at] ?? 0) - from)
    if (fresh.length > 0) await follower.take(workspace, fresh)
  }
  return { position: from + entries.length, caughtUp: entries.length === 0 }
}
