// What stands beside a chain that holds: the form of its bodies, what is sealed in them, the names that entries are filed under, and all
// that the index has of them.

import { isJsonObject, levelWidth, openBody, parseCanonical, tileWidth, type JsonObject } from "@tallystick/proof"
import { disclosuresOf } from "../entry.ts"
import type { Fault } from "./fault.ts"
import { actOf, type RecordedAct } from "./registered.ts"
import { sha256 } from "../sha256.ts"
import { epochsOf, type Epoch } from "../store/epochs.ts"
import type { Document, Keyed, Stored, Whole } from "../store/store.ts"

/** A name that only one entry of a workspace may have. */
export interface Repeated {
  readonly workspace: string
  readonly what: "receipt" | "idem"
}

export interface Contents {
  readonly workspace: string
  readonly after: number
  readonly upTo: number
}

export interface CheckedContents {
  /** Up to which entry. */
  readonly upTo: number
  /** What of them changed the registry. */
  readonly acts: readonly RecordedAct[]
  /** The first that does not hold. */
  readonly fault: Fault | undefined
}

const entriesPerRead = 256
const hashBytes = 32

export function checkContents(whole: Whole, { workspace, after, upTo }: Contents): CheckedContents {
  const acts: RecordedAct[] = []
  for (let at = after; at < upTo;) {
    const entries = whole.entries(workspace, at, Math.min(entriesPerRead, upTo - at))
    // Whether any is missing, the chain tells.
    if (entries.length === 0) break
    for (const entry of entries) {
      if (entry.sequence > upTo) break
      // The chain tells of a body that is not there.
      if (entry.body === undefined) continue
      const body = parseCanonical(entry.body)
      const what = isJsonObject(body) ? contentFault(entry, body) : "the body is not an object in canonical form"
      if (what !== undefined) return { upTo: at, acts, fault: { workspace, sequence: entry.sequence, what } }
      const act = isJsonObject(body) ? actOf(entry, body) : undefined
      if (act !== undefined) acts.push(act)
    }
    at = entries.at(-1)?.sequence ?? upTo
  }
  return { upTo, acts, fault: undefined }
}

function contentFault(entry: Stored, body: JsonObject): string | undefined {
  const { workspace, receipt, idem } = entry
  if (body["workspaceId"] !== workspace) return "the body is of another workspace"
  if (body["receipt"] !== receipt) return "it is filed under another receipt than its body says"
  if (body["idem"] !== idem) return "it is filed under another idempotency key than its body says"
  const opened = openBody(body, disclosuresOf(entry), sha256)
  if (!opened.ok) return `a disclosure does not fit its body (${opened.reason})`
  // Nothing is erased yet, so what is sealed is there.
  if (opened.withheld > 0) return `${opened.withheld} of what is sealed in it is not there, and no entry says that it was erased`
  return undefined
}

const names = { receipt: "receipt", idem: "idempotency key" } as const

/** Names that stand for one entry each. */
export function repeatedFault(asked: Repeated | undefined, sequence: number | undefined): readonly Fault[] {
  if (asked === undefined || sequence === undefined) return []
  const { workspace, what } = asked
  return [{ workspace, sequence, what: `an entry before it has the same ${names[what]}` }]
}

/** Tiles that are too short or too long, or that nothing has grown. Their hashes are held against the chain where it is walked. */
export function checkIndexed(whole: Whole, workspace: Document<"workspace">): readonly Fault[] {
  return epochsOf(workspace).flatMap((epoch) => checkTiles(whole, epoch))
}

function checkTiles({ index }: Whole, { workspace, name, before }: Epoch): readonly Fault[] {
  const size = index?.tree(name)?.size ?? 0
  for (const { level, tile, hashes } of index?.tiles(name) ?? []) {
    const due = Math.max(0, Math.min(tileWidth, levelWidth(level, size) - tile * tileWidth))
    if (level >= 0 && due > 0 && hashes.length === due * hashBytes) continue
    const what = `tile ${tile} of level ${level} has ${hashes.length / hashBytes} hashes, of a tree that has ${due} there`
    return [{ workspace, sequence: before + tile * tileWidth ** (level + 1) + 1, what }]
  }
  return []
}

/** Of a piece of the index of keys and receipts, which is one for all workspaces: what is wrong, if it is of those that were asked for. */
export function keyedFaults({ run, wrong, isWhole }: Keyed, ids: ReadonlySet<string>): readonly Fault[] {
  if (wrong?.place !== undefined && !ids.has(wrong.place.workspace)) return []
  if (wrong !== undefined) return [{ ...wrong.place, what: `part ${run} of the index of ${wrong.what} does not lead to it` }]
  return isWhole ? [] : [{ what: `part ${run} of the index of keys and receipts says of itself what is not so` }]
}
