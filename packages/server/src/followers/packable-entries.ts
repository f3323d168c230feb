// Which entries may be packed: a signed checkpoint covers them, and nothing reads them one after
// another any more.

import { parseRecord } from "@tallystick/proof"
import { epochsOf } from "../store/epochs.ts"
import { positionOf } from "../store/search/segment-plan.ts"
import type { FilingStore } from "../store/store.ts"

export interface Settled {
  /** Up to here, a signed checkpoint covers the entries. */
  readonly covered: number
  /** Up to here, segments of the search have them. */
  readonly filed: number
}

export async function settledOf(
  { registry, index, segments }: Pick<FilingStore, "registry" | "index" | "segments">,
  workspace: string,
): Promise<Settled> {
  const document = await registry.get("workspace", workspace, workspace)
  if (document === undefined) return { covered: 0, filed: 0 }
  const [{ number, before }] = epochsOf(document)
  const checkpoint = await index.checkpoint(workspace, number)
  return {
    covered: before + (checkpoint?.size ?? 0),
    filed: positionOf(await segments.list(workspace)),
  }
}

/** The last entry after `after`, up to `last`, that was recorded before this; `after` if none was. */
export async function lastBefore(
  { journal }: Pick<FilingStore, "journal">,
  workspace: string,
  timeMs: number,
  after: number,
  last: number,
): Promise<number> {
  const isBefore = async (sequence: number): Promise<boolean> => {
    const fields = parseRecord(await journal.records(workspace, sequence, 1))
    return fields !== undefined && fields.timeMs < timeMs
  }
  // Checked first because most workspaces have none. The times of a chain never decrease.
  if (after >= last || !(await isBefore(after + 1))) return after
  let [low, high] = [after + 1, last]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (await isBefore(middle)) low = middle
    else high = middle - 1
  }
  return low
}

/** Packs all entries up to this one, also where they fill no frame. */
export async function packUpTo(
  content: Pick<FilingStore["content"], "pack">,
  workspace: string,
  last: number,
): Promise<void> {
  for (let after = 0; ;) {
    const packed = await content.pack(workspace, after, last, true)
    if (packed === undefined) return
    after = packed.last
  }
}
