// Erases again, at a start, if the data is a copy from before an erasure.

import { LedgerError, StartError } from "../error.ts"
import { every } from "../store/all-documents.ts"
import { epochsOf } from "../store/epochs.ts"
import type { ErasedBlock } from "../store/erasures-file.ts"
import type { Workspace } from "../store/documents.ts"
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
  readonly blocks: Iterable<ErasedBlock>
  /** Why the data is read-only. */
  readonly readOnly: string | undefined
}

/**
 * A read-only copy is not served: the destruction must be recorded, and the content must not be
 * shown.
 */
export async function eraseAgain(parts: ErasedBefore): Promise<void> {
  for (const [id, open] of await openBlocks(parts)) {
    const workspace = await required(parts.registry, "workspace", id, id)
    for (const [erasureId, blocks] of open) {
      if (!(await isMissing(parts, workspace, erasureId, blocks))) continue
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
 * By workspace and erasure, the blocks of those that are not recorded as done. The file may be long,
 * and mostly all of its erasures are.
 */
async function openBlocks({
  registry,
  blocks,
}: ErasedBefore): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly ErasedBlock[]>>> {
  const workspaces = new Map<string, string>()
  for await (const document of every(registry, "workspace", undefined))
    for (const { origin } of epochsOf(document)) workspaces.set(origin, document.id)
  const open = new Map<string, Map<string, ErasedBlock[]>>()
  for (const block of blocks) {
    const { origin, id } = block
    const workspace = workspaces.get(origin)
    if (workspace === undefined || (await stateOf(registry, workspace, id)) === "done") continue
    const own = open.get(workspace) ?? new Map<string, ErasedBlock[]>()
    open.set(workspace, own.set(id, [...(own.get(id) ?? []), block]))
  }
  return open
}

/** Whether it is not recorded, or not carried out, and this data still has some of the content. */
async function isMissing(
  { registry, store }: ErasedBefore,
  workspace: Workspace,
  id: string,
  blocks: readonly ErasedBlock[],
): Promise<boolean> {
  return (
    (await stateOf(registry, workspace.id, id)) !== undefined ||
    (await stillThere(store.journal, workspace, blocks)).length > 0
  )
}

async function stateOf(registry: Registry, workspace: string, id: string) {
  return (await registry.get("erasure", workspace, id))?.value.state
}
