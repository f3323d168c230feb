// Gives the checkpointer the entries after its position, in batches.

import { assert } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import type { JournalReader } from "../store/store.ts"
import type { Checkpointer } from "./checkpointer.ts"

export interface FollowStep {
  readonly position: number
  /** The end of the chain before the read, and whether the checkpointer has reached it. */
  readonly end: number
  readonly caughtUp: boolean
}

export async function followOnce(
  journal: JournalReader,
  checkpointer: Pick<Checkpointer, "position" | "take">,
  workspace: string,
  { followEntriesMax }: Pick<Limits, "followEntriesMax">,
): Promise<FollowStep> {
  let position = await checkpointer.position(workspace)
  const end = (await journal.head(workspace))?.sequence ?? 0
  const pieces = await journal.linked(workspace, position, followEntriesMax)
  for (const { sequences } of pieces)
    for (const sequence of sequences)
      assert(sequence === ++position, "the journal gives entries in order and without a gap")
  if (pieces.length > 0) await checkpointer.take(workspace, pieces)
  return { position, end: Math.max(end, position), caughtUp: pieces.length === 0 }
}
