// What stands beside a chain that holds: the form of its bodies, what is sealed in them, the names that entries are filed under, and all
// that the index has of them.

import { isJsonObject, levelWidth, openBody, parseCanonical, tileWidth } from "@tallystick/proof"
import { disclosuresOf } from "./entry.ts"
import type { Fault } from "./fsck.ts"
import { sha256 } from "./sha256.ts"
import { epochsOf, type Epoch } from "./store/epochs.ts"
import type { Document, Stored, Whole } from "./store/store.ts"

const entriesPerRead = 1000
const hashBytes = 32

/** Up to the first entry that does not hold. */
export function checkContents(
  whole: Whole,
  { id }: Document<"workspace">,
  progress: (done: number) => void,
): { readonly entries: number; readonly faults: readonly Fault[] } {
  for (let at = 0; ;) {
    const entries = whole.entries(id, at, entriesPerRead)
    for (const entry of entries) {
      const what = contentFault(entry)
      if (what !== undefined) return { entries: at, faults: [{ workspace: id, sequence: entry.sequence, what }] }
    }
    const last = entries.at(-1)
    if (last === undefined) return { entries: at, faults: [] }
    at = last.sequence
    progress(at)
  }
}

function contentFault(entry: Stored): string | undefined {
  const { workspace, body, receipt, idem } = entry
  // The chain tells of a body that is not there.
  if (body === undefined) return undefined
  const parsed = parseCanonical(body)
  if (!isJsonObject(parsed)) return "the body is not an object in canonical form"
  if (parsed["workspaceId"] !== workspace) return "the body is of another workspace"
  if (parsed["receipt"] !== receipt) return "it is filed under another receipt than its body says"
  if (parsed["idem"] !== idem) return "it is filed under another idempotency key than its body says"
  const opened = openBody(parsed, disclosuresOf(entry), sha256)
  if (!opened.ok) return `a disclosure does not fit its body (${opened.reason})`
  // Nothing is erased yet, so what is sealed is there.
  if (opened.withheld > 0) return `${opened.withheld} of what is sealed in it is not there, and no entry says that it was erased`
  return undefined
}

/** Names that stand for one entry each. */
export function checkBeside(whole: Whole, { id }: Document<"workspace">): readonly Fault[] {
  const names = { receipt: "receipt", idem: "idempotency key" } as const
  return (["receipt", "idem"] as const).flatMap((what) => {
    const sequence = whole.repeated(id, what)
    return sequence === undefined ? [] : [{ workspace: id, sequence, what: `an entry before it has the same ${names[what]}` }]
  })
}

/** Tiles that are too short or too long, or that nothing has grown. Their hashes are held against the chain where it is walked. */
export function checkIndexed(whole: Whole, workspace: Document<"workspace">): readonly Fault[] {
  return epochsOf(workspace).flatMap((epoch) => checkTiles(whole, epoch))
}

function checkTiles({ index }: Whole, { workspace, name, before }: Epoch): readonly Fault[] {
  const size = index?.tree(name)?.size ?? 0
  for (const { level, tile, hashes } of index?.tiles(name) ?? []) {
    const due = Math.max(0, Math.min(tileWidth, levelWidth(level, size) - tile * tileWidth))
    if (level >= 1 && due > 0 && hashes.length === due * hashBytes) continue
    const what = `tile ${tile} of level ${level} has ${hashes.length / hashBytes} hashes, of a tree that has ${due} there`
    return [{ workspace, sequence: before + tile * tileWidth ** (level + 1) + 1, what }]
  }
  return []
}

/** The index of keys and receipts, which is one for all workspaces. */
export function checkKeyed({ index }: Whole, chosen: readonly Document<"workspace">[]): readonly Fault[] {
  const ids = new Set(chosen.map(({ id }) => id))
  const faults: Fault[] = []
  for (const { run, wrong, isWhole } of index?.keyed() ?? []) {
    if (wrong?.place !== undefined && !ids.has(wrong.place.workspace)) continue
    if (wrong !== undefined) faults.push({ ...wrong.place, what: `part ${run} of the index of ${wrong.what} does not lead to it` })
    else if (!isWhole) faults.push({ what: `part ${run} of the index of keys and receipts says of itself what is not so` })
  }
  return faults
}
