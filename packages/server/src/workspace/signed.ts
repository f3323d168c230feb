// A signed checkpoint that covers an entry, for what may only be done, or given out, under one.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { IndexReader } from "../store/store.ts"

export interface SigningParts {
  readonly index: Pick<IndexReader, "checkpoint">
  readonly clock: Clock
  readonly limits: Pick<Limits, "proofWaitMs">
  /** Has a workspace's chain signed to its end. */
  readonly seal: (workspace: string) => Promise<unknown>
}

/** The note of a checkpoint that covers an entry, signed now if need be. Throws `ledger_unavailable` when that takes too long. */
export async function signedFor({ index, clock, limits, seal }: SigningParts, workspace: string, sequence: number): Promise<string> {
  const before = await index.checkpoint(workspace)
  if (before !== undefined && before.size >= sequence) return before.note
  await Promise.race([seal(workspace), clock.sleep(limits.proofWaitMs)])
  const checkpoint = await index.checkpoint(workspace)
  if (checkpoint === undefined || checkpoint.size < sequence)
    throw new LedgerError("ledger_unavailable", `no signed checkpoint covers entry ${sequence} yet; repeat the request`)
  return checkpoint.note
}
