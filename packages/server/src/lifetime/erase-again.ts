// Erases again, at a start, if the data is a copy from before an erasure.

import { LedgerError, StartError } from "../error.ts"
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
  /** The contents of the erasures file at this path. */
  readonly blocks: readonly ErasedBlock[]
  /** Why the data is read-only. */
  readonly readOnly: string | undefined
}

/**
 * A read-only copy is not served: the destruction must be recorded, and the content must not be
 * shown.
 */
export async function eraseAgain(parts: ErasedBefore): Promise<void> {
  if (parts.blocks.length === 0) return
  for await (const { id } of every(parts.registry, "workspace", undefined)) {
    const workspace = await required(parts.registry, "workspace", id, id)
    for (const [erasureId, blocks] of await openBlocks(parts, workspace)) {
      if (parts.readOnly !== undefined)
        throw new StartError(
          `this copy of the data still has content that was erased since it was made, as ${parts.path} says. The copy is read-only, so it is not served: ${parts.readOnly}`,
        )
      await parts.erasures.repeat(workspace, erasureId, blocks).catch(sayDamage)
    }
  }
}

function sayDamage(error: unknown): never {
  if (!(error instanceof LedgerError && error.code === "integrity_failure")) throw error
  throw new StartError(
    `this copy of the data still has content that was erased, and cannot erase it: ${error.detail}. Restore another backup, or look at the disk`,
    { cause: error },
  )
}

/**
 * By the id of the erasure: content that this data still has, where the erasure is not recorded as
 * done.
 */
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
