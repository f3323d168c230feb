// Waits until a signed checkpoint covers an entry.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Checkpoints } from "../query/verified-checkpoints.ts"
import { epochAt, epochsOf } from "../store/epochs.ts"
import type { Workspace } from "../store/documents.ts"

export interface SigningParts {
  readonly checkpoints: Pick<Checkpoints, "newest">
  readonly clock: Clock
  readonly limits: Pick<Limits, "proofWaitMs">
  /** Signs a workspace's chain to its end. */
  readonly seal: (workspace: string) => Promise<unknown>
}

/**
 * The note of a checkpoint that covers an entry; signs one if there is none. Throws
 * `ledger_unavailable` if that takes too long, `conflict` if the entry belongs to a former epoch,
 * which is not signed any more, and `integrity_failure` if the stored checkpoint is forged.
 */
export async function signedFor(
  { checkpoints, clock, limits, seal }: SigningParts,
  workspace: Workspace,
  sequence: number,
): Promise<string> {
  const epoch = epochAt(epochsOf(workspace), sequence)
  const size = sequence - epoch.before
  const before = await checkpoints.newest(workspace, epoch)
  if (before !== undefined && before.size >= size) return before.note
  if (epoch.end !== undefined)
    throw new LedgerError(
      "conflict",
      `no kept checkpoint of epoch ${epoch.number} covers entry ${sequence}, and none will be signed`,
    )
  await Promise.race([seal(workspace.id), clock.sleep(limits.proofWaitMs)])
  const checkpoint = await checkpoints.newest(workspace, epoch)
  if (checkpoint === undefined || checkpoint.size < size)
    throw new LedgerError(
      "ledger_unavailable",
      `no signed checkpoint covers entry ${sequence} yet; repeat the request`,
    )
  return checkpoint.note
}
