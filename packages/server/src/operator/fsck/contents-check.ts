// Checks what hashes alone do not cover: the form of bodies, their disclosures, receipts and
// idempotency keys, and the index.

import { levelWidth, tileWidth } from "@tallystick/proof"
import type { Fault } from "./fault.ts"
import { PlainContents } from "./plain-contents.ts"
import { actOf, type RecordedAct } from "./registry-replay.ts"
import { checkContents } from "../../store/check-entry.ts"
import { readGone } from "../../store/destroyed.ts"
import { epochsOf, type Epoch } from "../../store/epochs.ts"
import type { Workspace } from "../../store/documents.ts"
import { middleLevel, middlesPerTile } from "../../store/index-state.ts"
import type { Keyed, RepeatedName, Whole } from "../../store/whole-ledger.ts"

export interface Contents {
  readonly workspace: string
  readonly after: number
  readonly upTo: number
}

export interface ContentsResult {
  /** The last entry that was checked. */
  readonly upTo: number
  /** The acts among them that changed the registry. */
  readonly acts: readonly RecordedAct[]
  /** The first broken entry. */
  readonly fault: Fault | undefined
}

const entriesPerRead = 256
const hashBytes = 32

export async function walkContents(
  { journal, registry }: Whole,
  { workspace, after, upTo }: Contents,
): Promise<ContentsResult> {
  const acts: RecordedAct[] = []
  const plain = new PlainContents()
  for (let at = after; at < upTo;) {
    const entries = await journal.after(workspace, at, Math.min(entriesPerRead, upTo - at))
    // The chain pass reports missing entries.
    if (entries.length === 0) break
    const unusual = entries.filter((entry) => !plain.areGood(entry))
    const goneAt = await readGone(
      registry,
      workspace,
      unusual.map(({ sequence }) => sequence),
    )
    for (const entry of unusual) {
      if (entry.sequence > upTo) break
      // The chain pass reports a missing body.
      if (entry.body === undefined) continue
      const body = checkContents(entry, goneAt(entry.sequence)) ?? {}
      if (typeof body === "string")
        return { upTo: at, acts, fault: { workspace, sequence: entry.sequence, what: body } }
      const act = actOf(entry, body)
      if (act !== undefined) acts.push(act)
    }
    at = entries.at(-1)?.sequence ?? upTo
  }
  return { upTo, acts, fault: undefined }
}

const names = { receipt: "receipt", idem: "idempotency key" } as const

export function repeatedFault({ workspace, what, sequence }: RepeatedName): Fault {
  return { workspace, sequence, what: `an earlier entry has the same ${names[what]}` }
}

/** Tiles of a wrong length, or beyond the tree. The chain pass compares their hashes. */
export async function checkIndexed(whole: Whole, workspace: Workspace): Promise<readonly Fault[]> {
  const faults: Fault[] = []
  for (const epoch of epochsOf(workspace)) faults.push(...(await checkTiles(whole, epoch)))
  return faults
}

async function checkTiles(
  { index, names: { index: name } }: Whole,
  { workspace, number, before }: Epoch,
): Promise<readonly Fault[]> {
  if (index === undefined) return []
  const size = (await index.tree(workspace, number))?.size ?? 0
  for await (const { level, tile, hashes } of index.allTiles(workspace, number)) {
    const due = hashesDue(level, tile, size)
    if (level >= 0 && due > 0 && hashes.length === due * hashBytes) continue
    const what = `tile ${tile} of level ${level} in ${name} has ${hashes.length / hashBytes} hashes instead of ${due}`
    const sequence = before + tile * tileWidth ** (level + 1) + 1
    return [{ workspace, sequence, what, isDerived: true }]
  }
  return []
}

/** How many hashes a tile has in a tree of this size. */
function hashesDue(level: number, tile: number, size: number): number {
  if (level === middleLevel) return (tile + 1) * tileWidth <= size ? middlesPerTile : 0
  return Math.max(0, Math.min(tileWidth, levelWidth(level, size) - tile * tileWidth))
}

/**
 * The index of keys and receipts is one for all workspaces: reports a faulty part of it, if it
 * concerns one of these workspaces.
 */
export function keyedFaults(
  { run, wrong, isWhole }: Keyed,
  ids: ReadonlySet<string>,
): readonly Fault[] {
  if (wrong?.place !== undefined && !ids.has(wrong.place.workspace)) return []
  if (wrong !== undefined)
    return [
      {
        ...wrong.place,
        what: `part ${run} of the index of ${wrong.what} in index.db does not lead to it`,
        isDerived: true,
      },
    ]
  return isWhole
    ? []
    : [
        {
          what: `part ${run} of the index of keys and receipts in index.db has a wrong filter, or wrong first and last receipts`,
          isDerived: true,
        },
      ]
}
