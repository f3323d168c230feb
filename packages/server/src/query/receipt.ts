// A receipt looked at again: what was kept is read and hashed anew, linked to its predecessor, and found under the signed root. What
// comes out is a finding, never an assumption: an entry that does not hold together is shown as broken.

import {
  bodyHash,
  equalBytes,
  eventHash,
  formatTlogProof,
  fromHex,
  maskEmail,
  parseCheckpoint,
  parseNote,
  parseRecord,
  recordBytes,
  toBase64,
  toHex,
  verifyInclusion,
  type JsonObject,
} from "@tallystick/proof"
import { disclosuresOf, entryJson, openEntry, receiptJson, type Content, type Integrity, type Opened, type Present } from "../entry.ts"
import { sha256 } from "../sha256.ts"
import type { Checkpoint, Document, Stored } from "../store/store.ts"
import { readInclusion, type Kept } from "./tree-reads.ts"

export interface Found {
  readonly stored: Stored
  readonly opened: Opened | undefined
  readonly integrity: Integrity
  readonly present: Present
  /** The hashes that lead to the checkpoint's root; absent while no checkpoint covers the entry. */
  readonly inclusion: { readonly checkpoint: Checkpoint; readonly hashes: readonly Uint8Array[] } | undefined
}

const dayMs = 86_400_000

/** Reads an entry and finds out how it stands. `checkpoint` is the newest; an entry behind it is pending. */
export async function findReceipt(kept: Kept, workspace: Document<"workspace">, stored: Stored, nowMs: number): Promise<Found> {
  const { sequence } = stored
  const [predecessor, checkpoint, position] = await Promise.all([
    sequence === 1 ? undefined : kept.journal.records(workspace.id, sequence - 1, 1),
    kept.index.checkpoint(workspace.id),
    kept.index.position(workspace.id),
  ])
  const opened = openEntry(stored, disclosuresOf(stored))
  const covering = checkpoint !== undefined && checkpoint.size >= sequence ? checkpoint : undefined
  const hashes =
    covering === undefined ? undefined : await readInclusion(kept, workspace.id, sequence - 1, covering.size).catch(() => undefined)
  const inclusion = covering === undefined || hashes === undefined ? undefined : { checkpoint: covering, hashes }
  const linked = opened !== undefined && isLinked(workspace, stored, predecessor)
  const included = covering === undefined || (inclusion !== undefined && isIncluded(workspace, stored, inclusion))
  return {
    stored,
    opened,
    inclusion,
    integrity: !linked || !included ? "broken" : covering === undefined ? "pending" : "verified",
    present: {
      queued: position < sequence,
      storageClass: opened !== undefined && opened.link.timeMs < nowMs - workspace.value.hotDays * dayMs ? "archive" : "hot",
    },
  }
}

function isLinked(
  { value }: Document<"workspace">,
  { sequence, record, body, bodySalt }: Stored,
  predecessor: Uint8Array | undefined,
): boolean {
  const fields = parseRecord(record)
  const ledgerId = fromHex(value.ledgerId)
  if (fields === undefined || ledgerId === undefined || body === undefined || bodySalt === undefined) return false
  const previous = sequence === 1 ? ledgerId : predecessor?.length === record.length ? eventHash(predecessor, sha256) : undefined
  return (
    fields.index === sequence - 1 &&
    equalBytes(fields.ledgerId, ledgerId) &&
    previous !== undefined &&
    equalBytes(fields.previousHash, previous) &&
    equalBytes(bodyHash(bodySalt, body, sha256), fields.bodyHash)
  )
}

function isIncluded(
  { value }: Document<"workspace">,
  { sequence, record }: Stored,
  { checkpoint, hashes }: NonNullable<Found["inclusion"]>,
): boolean {
  const signed = parseCheckpoint(parseNote(checkpoint.note)?.text ?? "")
  return (
    signed?.origin === value.origin &&
    signed.size === checkpoint.size &&
    verifyInclusion(eventHash(record, sha256), sequence - 1, signed.size, hashes, signed.root, sha256)
  )
}

export interface Shown {
  readonly receipt: string
  readonly entry: string
  readonly verified: boolean
  readonly proof: string
  readonly disclosures: readonly string[]
}

/** What a reader sees of it. In clear only for those who may; for all others every sealed field is withheld, and the circumstances too. */
export function showReceipt(found: Found, workspace: Document<"workspace">, vkey: string, publicUrl: string, clear: boolean): Shown {
  const { stored, integrity, present } = found
  const disclosures = clear ? disclosuresOf(stored) : []
  const opened = viewOf(found, workspace.id, clear)
  return {
    receipt: receiptJson(opened, present, publicUrl),
    entry: entryJson(opened, present, integrity),
    verified: integrity !== "broken",
    proof: JSON.stringify({
      record: toBase64(stored.record),
      body: Buffer.from(stored.body ?? new Uint8Array()).toString("utf8"),
      bodySalt: toHex(stored.bodySalt ?? new Uint8Array()),
      vkey,
      tlogProof: tlogProofOf(found) ?? null,
    }),
    disclosures,
  }
}

/** The proof in the form that every reader of transparency logs knows; absent while no checkpoint covers the entry. */
export function tlogProofOf({ stored, inclusion }: Found): string | undefined {
  if (inclusion === undefined) return undefined
  const { checkpoint, hashes } = inclusion
  return formatTlogProof({ extra: stored.record, index: stored.sequence - 1, hashes, checkpoint: checkpoint.note })
}

function viewOf({ stored, opened }: Found, workspaceId: string, clear: boolean): Opened {
  if (opened === undefined) return unreadable(stored, workspaceId)
  if (clear) return opened
  const bare = openEntry(stored, [])
  if (bare === undefined) return unreadable(stored, workspaceId)
  const { context: _, keyId: __, ...content } = bare.content
  const withEmail = (party: Content["actor"], inClear: Content["actor"]) =>
    typeof inClear["email"] === "string" ? { ...party, email: maskEmail(inClear["email"]) } : party
  return {
    ...bare,
    content: {
      ...content,
      actor: withEmail(content.actor, opened.content.actor),
      target: withEmail(content.target, opened.content.target),
    },
  }
}

/** An entry of which nothing can be read is still shown, at its place and with the hash that its record has now. */
function unreadable({ sequence, record, receipt }: Stored, workspaceId: string): Opened {
  const fields = parseRecord(record)
  const nobody = { id: "", type: "" }
  const content: Content = {
    id: "",
    receipt,
    workspaceId,
    projectId: "",
    action: "",
    actor: nobody,
    target: nobody,
    occurredAt: "",
    receivedAt: "",
    source: "",
    userVisible: false,
    lane: "operations",
    metadata: {} satisfies JsonObject,
  }
  const nothing = new Uint8Array(32)
  const hash = record.length === recordBytes ? eventHash(record, sha256) : nothing
  return {
    kind: fields?.kind ?? "event",
    link: { sequence, timeMs: fields?.timeMs ?? 0, hash, previousHash: fields?.previousHash ?? nothing },
    content,
  }
}
