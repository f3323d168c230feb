// A receipt looked at again: what was kept is read and hashed anew, linked to its predecessor, and found under the signed root. What
// comes out is a finding, never an assumption: an entry that does not hold together is shown as broken.

import {
  bodyHash,
  equalBytes,
  eventHash,
  formatTlogProof,
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
import {
  disclosuresFor,
  disclosuresOf,
  entryJson,
  openEntry,
  receiptJson,
  type Content,
  type Integrity,
  type Opened,
  type Present,
  type Sight,
} from "../entry.ts"
import { sha256 } from "../sha256.ts"
import { checkpointFor, epochAt, epochsOf, type Epoch } from "../store/epochs.ts"
import type { Checkpoint, Document, Store, Stored } from "../store/store.ts"
import { readInclusion, type Kept } from "./tree-reads.ts"

export interface Found {
  /** In whose tree it stands. */
  readonly epoch: Epoch
  readonly stored: Stored
  readonly opened: Opened | undefined
  readonly integrity: Integrity
  readonly present: Present
  /** The hashes that lead to the checkpoint's root; absent while no checkpoint covers the entry. */
  readonly inclusion: { readonly checkpoint: Checkpoint; readonly hashes: readonly Uint8Array[] } | undefined
}

const dayMs = 86_400_000

/** Reads an entry and finds out how it stands. `checkpoint` is the newest; an entry behind it is pending. */
export async function findReceipt(
  kept: Kept & Pick<Store, "search">,
  workspace: Document<"workspace">,
  stored: Stored,
  nowMs: number,
): Promise<Found> {
  const { sequence } = stored
  const epoch = epochAt(epochsOf(workspace), sequence)
  const [predecessor, checkpoint, position] = await Promise.all([
    sequence === 1 ? undefined : kept.journal.records(workspace.id, sequence - 1, 1),
    checkpointFor(kept.index, epoch),
    kept.search.position(workspace.id),
  ])
  return findIncluded(kept, findLinked(workspace, epoch, stored, predecessor, { checkpoint, position, nowMs }), checkpoint)
}

/** What entries are held against: the newest checkpoint of their epoch, how far a search can see, and the time. */
export interface Standing {
  readonly checkpoint: Checkpoint | undefined
  readonly position: number
  readonly nowMs: number
}

/** How an entry stands by its bytes and its predecessor's record alone: `verified` if a checkpoint covers it as well. */
export function findLinked(
  workspace: Document<"workspace">,
  epoch: Epoch,
  stored: Stored,
  predecessor: Uint8Array | undefined,
  { checkpoint, position, nowMs }: Standing,
): Found {
  const opened = openEntry(stored, disclosuresOf(stored))
  const isCovered = checkpoint !== undefined && checkpoint.size >= stored.sequence - epoch.before
  return {
    epoch,
    stored,
    opened,
    inclusion: undefined,
    integrity: opened === undefined || !isLinked(epoch, stored, predecessor) ? "broken" : isCovered ? "verified" : "pending",
    present: {
      queued: position < stored.sequence,
      storageClass: opened !== undefined && opened.link.timeMs < archivedBefore(workspace, nowMs) ? "archive" : "hot",
    },
  }
}

/** The same entry, and whether it is in the tree that the checkpoint signs. */
export async function findIncluded(kept: Kept, found: Found, checkpoint: Checkpoint | undefined): Promise<Found> {
  const { epoch, stored } = found
  const index = stored.sequence - 1 - epoch.before
  // What is broken already needs no tree to say so, and what is left of its record may not even have a hash.
  if (checkpoint === undefined || checkpoint.size <= index || found.integrity === "broken") return found
  const hashes = await readInclusion(kept, epoch, index, checkpoint.size).catch(() => undefined)
  const inclusion = hashes === undefined ? undefined : { checkpoint, hashes }
  const isIn = inclusion !== undefined && isIncluded(epoch, stored, inclusion)
  return { ...found, inclusion, integrity: isIn ? found.integrity : "broken" }
}

/** What the ledger recorded before this time is in the archive. */
export function archivedBefore({ value }: Document<"workspace">, nowMs: number): number {
  return nowMs - value.hotDays * dayMs
}

function isLinked({ ledgerId, before }: Epoch, { sequence, record, body, bodySalt }: Stored, predecessor: Uint8Array | undefined): boolean {
  const fields = parseRecord(record)
  if (fields === undefined || body === undefined || bodySalt === undefined) return false
  const isFirst = sequence === before + 1
  const previous = isFirst ? ledgerId : predecessor?.length === record.length ? eventHash(predecessor, sha256) : undefined
  return (
    fields.index === sequence - 1 - before &&
    equalBytes(fields.ledgerId, ledgerId) &&
    previous !== undefined &&
    equalBytes(fields.previousHash, previous) &&
    equalBytes(bodyHash(bodySalt, body, sha256), fields.bodyHash)
  )
}

function isIncluded(
  { origin, before }: Epoch,
  { sequence, record }: Stored,
  { checkpoint, hashes }: NonNullable<Found["inclusion"]>,
): boolean {
  const signed = parseCheckpoint(parseNote(checkpoint.note)?.text ?? "")
  return (
    signed?.origin === origin &&
    signed.size === checkpoint.size &&
    verifyInclusion(eventHash(record, sha256), sequence - 1 - before, signed.size, hashes, signed.root, sha256)
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
  const sight = clear ? "all" : "none"
  return {
    receipt: receiptJson(viewOf(found, workspace.id, sight), present, publicUrl),
    entry: showEntry(found, workspace, sight),
    verified: integrity !== "broken",
    proof: showProof(found, vkey),
    disclosures: disclosuresFor(stored, sight),
  }
}

export function showEntry(found: Found, { id }: Document<"workspace">, sight: Sight): string {
  return entryJson(viewOf(found, id, sight), found.present, found.integrity)
}

/** What is needed to check an entry without us. */
export function showProof(found: Found, vkey: string): string {
  const { record, body, bodySalt } = found.stored
  const { geneses } = found.epoch
  return JSON.stringify({
    record: toBase64(record),
    body: Buffer.from(body ?? new Uint8Array()).toString("utf8"),
    bodySalt: toHex(bodySalt ?? new Uint8Array()),
    vkey,
    tlogProof: tlogProofOf(found) ?? null,
    // Without them nobody could tell from the record which sequence is its own.
    ...(geneses.length > 1 && { geneses }),
  })
}

/** The proof in the form that every reader of transparency logs knows; absent while no checkpoint covers the entry. */
export function tlogProofOf({ epoch, stored, inclusion }: Found): string | undefined {
  if (inclusion === undefined) return undefined
  const { checkpoint, hashes } = inclusion
  return formatTlogProof({ extra: stored.record, index: stored.sequence - 1 - epoch.before, hashes, checkpoint: checkpoint.note })
}

function viewOf({ stored, opened }: Found, workspaceId: string, sight: Sight): Opened {
  if (opened === undefined) return unreadable(stored, workspaceId)
  if (sight === "all") return opened
  const seen = openEntry(stored, disclosuresFor(stored, sight))
  if (seen === undefined) return unreadable(stored, workspaceId)
  const { context, keyId, ...content } = seen.content
  const withEmail = (party: Content["actor"], inClear: Content["actor"]) =>
    party["email"] === undefined && typeof inClear["email"] === "string" ? { ...party, email: maskEmail(inClear["email"]) } : party
  // The circumstances of a request are those of whoever made it.
  const circumstances = sight === "actor" ? { ...(context && { context }), ...(keyId === undefined ? {} : { keyId }) } : {}
  return {
    ...seen,
    content: {
      ...content,
      ...circumstances,
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
