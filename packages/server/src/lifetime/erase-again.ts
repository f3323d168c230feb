// Erases again, at a start, what a copy of the data from before an erasure still has.

import { StartError } from "../error.ts"
import { every } from "../store/all-documents.ts"
import { epochsOf } from "../store/epochs.ts"
import type { ErasedBlock } from "../store/erasures-file.ts"
import type { Document } from "../store/documents.ts"
import type { JournalReader, Registry } from "../store/store.ts"
import { required } from "../workspace/required-document.ts"
import { stillThere } from "./erased-blocks.ts"
import type { Erasures } from "./erasures.ts"

export interface ErasedBefore {
  readonly store: { readonly journal: Pick<JournalReader, "at"> }
  readonly registry: Registry
  readonly erasures: Pick<Erasures, "repeat">
  readonly path: string
  /** What the file at this path lists. */
  readonly blocks: readonly ErasedBlock[]
  /** Why nothing may be written. */
  readonly readOnly: string | undefined
}

/**
 * A copy that may not be written to is not served: what is destroyed must be recorded, and what it
 * still has must not be shown.
 */
export async function eraseAgain(parts: ErasedBefore): Promise<void> {
  if (parts.blocks.length === 0) return
  for await (const { id } of every(parts.registry, "workspace", undefined)) {
    const workspace = await required(parts.registry, "workspace", id, id)
    for (const [erasureId, blocks] of await openBlocks(parts, workspace)) {
      if (parts.readOnly !== undefined)
        throw new StartError(
          `this copy of the data has what was erased since it was made, as ${parts.path} says, and it may not be changed, so it is not served: ${parts.readOnly}`,
        )
      await parts.erasures.repeat(workspace, erasureId, blocks)
    }
  }
}

/** By the id of the erasure: what this data does not know to be done, and still has. */
async function openBlocks(
  { registry, store, blocks }: ErasedBefore,
  workspace: Document<"workspace">,
): Promise<readonly (readonly [string, readonly ErasedBlock[]])[]> {
  const origins = epochsOf(workspace).map(({ origin }) => origin)
  const own = Map.groupBy(
    blocks.filter(({ origin }) => origins.includes(origin)),
    ({ id }) => id,
  )
  const open: (readonly [string, readonly ErasedBlock[]])[] = []
  for (const [id, some] of own) {
    const state = (await registry.get("erasure", workspace.id, id))?.value.state
    if (state === "done") continue
    if (state !== undefined || (await stillThere(store.journal, workspace, some)).length > 0)
      open.push([id, some])
  }
  return open
}
