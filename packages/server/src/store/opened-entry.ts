// An entry in clear, and the two forms that the API shows: the receipt for its writer, and the
// ledger entry for readers. Both depend on stored data only, so a receipt can be made again, byte
// for byte, at any time.

import {
  canonicalize,
  claimsOf,
  eventHash,
  isJsonObject,
  openClaims,
  parseJson,
  parseRecord,
  toHex,
  type Claims,
  type EntryField,
  type FieldWith,
  type Json,
  type JsonObject,
  type Kind,
  type RepeatedFields,
} from "@tallystick/proof"
import type { AuditEvent, Entry } from "@tallystick/client/wire"
import { bufferOf } from "../runtime/buffer-of.ts"
import { isoTime } from "../clock.ts"
import { disclosureDigest, sha256 } from "../runtime/sha256.ts"
import type { Lane } from "./documents.ts"
import type { Stored } from "./entries.ts"

export interface Party {
  readonly id: string
  readonly type: string
  readonly [more: string]: Json
}

/** The circumstances of a request. They are sealed, and shown as part of `provenance`. */
export interface Context {
  readonly environment?: string
  readonly server?: string
  readonly requestId?: string
  readonly sessionId?: string
  readonly traceId?: string
  readonly traceparent?: string
}

/**
 * The content of an entry with all sealed fields in clear. It does not depend on the place in the
 * chain.
 */
export interface Content extends OrUndefined<RepeatedFields> {
  readonly id: string
  readonly receipt: string
  readonly actor: Party
  readonly target: Party
  readonly receivedAt: string
  readonly source: string
  readonly userVisible: boolean
  readonly lane: Lane
  readonly metadata: JsonObject
  readonly policyVersion?: number | undefined
  readonly clockAhead?: true | undefined
  readonly keyId?: string | undefined
  readonly context?: Context | undefined
}

/** Optional members may also be undefined, so that all contents have one hidden class. */
type OrUndefined<Fields> = {
  readonly [Name in keyof Fields]: object extends Pick<Fields, Name>
    ? Fields[Name] | undefined
    : Fields[Name]
}

/** For a literal that must name every field, also absent ones. */
export type Complete<Fields> = { readonly [Name in keyof Required<Fields>]: Fields[Name] }

/**
 * Compiles only if the table of fields, this type and the events of the API have the same names.
 */
type Alike<A, B> = [A, B] extends [B, A] ? true : never
const _: [Alike<keyof Content, EntryField>, Alike<keyof AuditEvent, FieldWith<"from", "writer">>] =
  [true, true]

/** The place of an entry in its chain. */
export interface Link {
  readonly sequence: number
  readonly timeMs: number
  readonly hash: Uint8Array
  readonly previousHash: Uint8Array
}

export interface OpenedEntry {
  readonly kind: Kind
  readonly link: Link
  readonly content: Content
}

export interface ReadEntry extends OpenedEntry {
  /** What was opened, and with which claims. */
  readonly body: JsonObject
  readonly claims: Claims
  /** Digests of sealed fields that were not disclosed. */
  readonly missing: readonly string[]
}

/** State of an entry that changes over time. No hash covers it. */
export interface Present {
  readonly queued: boolean
  readonly storageClass: "hot" | "archive"
}

/** The state right after a write. A replay of the write answers with it too. */
export const justRecorded: Present = { queued: true, storageClass: "hot" }

/** Opens a stored entry with these disclosures; undefined if its bytes are malformed. */
export function openEntry(
  stored: Stored,
  disclosures: readonly string[],
  record = parseRecord(stored.record),
): ReadEntry | undefined {
  const body = parsedBody(stored.body)
  if (record === undefined || !isJsonObject(body)) return undefined
  const claims = claimsOf(disclosures, disclosureDigest)
  const opened = typeof claims === "string" ? undefined : openContent(body, claims)
  if (typeof claims === "string" || opened === undefined) return undefined
  const link = {
    sequence: stored.sequence,
    timeMs: record.timeMs,
    hash: eventHash(stored.record, sha256),
    previousHash: record.previousHash,
  }
  return { kind: record.kind, link, body, claims, ...opened }
}

export function disclosuresOf(stored: Stored): readonly string[] {
  return stored.disclosures === "" ? [] : stored.disclosures.split("~")
}

/** The sealed fields that a reader sees: all, none, or those of the actor or of the target. */
export type Sight = "all" | "none" | "actor" | "target"

/**
 * The disclosures that a reader may have. Sealed members of the target belong to the target; all
 * others belong to the actor.
 */
export function disclosuresFor(stored: Stored, sight: Sight): readonly string[] {
  const all = sight === "none" ? [] : disclosuresOf(stored)
  if (sight === "all" || all.length === 0) return all
  const isSeen = seenBy(sight, parsedBody(stored.body))
  return all.filter((disclosure) => isSeen(disclosureDigest(disclosure)))
}

/** The content of an entry, opened with all disclosures, that a reader sees. */
export function contentFor(
  { body, claims, content }: ReadEntry,
  sight: Exclude<Sight, "all">,
): Content | undefined {
  const isSeen = seenBy(sight, body)
  const seen = new Map([...claims].filter(([digest]) => isSeen(digest)))
  return seen.size === claims.size ? content : openContent(body, seen)?.content
}

/** Whether a reader sees what the disclosure with a digest discloses. */
function seenBy(sight: Exclude<Sight, "all">, body: Json | undefined): (digest: string) => boolean {
  if (sight === "none") return () => false
  const digests = digestsIn(isJsonObject(body) ? body["target"] : undefined)
  return (digest) => digests.includes(digest) === (sight === "target")
}

/** The digests of what is sealed in a body, or in one of its parts. */
export function digestsIn(part: Json | undefined): readonly unknown[] {
  const digests = isJsonObject(part) ? part["_sd"] : undefined
  return Array.isArray(digests) ? digests : []
}

export function parsedBody(body: Uint8Array | undefined): Json | undefined {
  if (body === undefined) return undefined
  return parseJson(bufferOf(body).toString("utf8"))
}

function openContent(
  body: JsonObject,
  claims: Claims,
): Pick<ReadEntry, "content" | "missing"> | undefined {
  const opened = openClaims(body, claims)
  if (!opened.ok) return undefined
  const { v: _, idem: __, actor, target, metadata = {}, context, ...rest } = opened.value
  if (!isJsonObject(actor) || !isJsonObject(target) || !isJsonObject(metadata)) return undefined
  // `seal` made the body from a Content, and its hash shows that it is unchanged.
  const content = {
    ...rest,
    ...spreadContext(context),
    actor: spreadOther(actor),
    target: spreadOther(target),
    metadata,
  } as unknown as Content
  return { content, missing: opened.missing }
}

/**
 * Members of a party that the format does not name are sealed as one claim. This spreads them
 * again.
 */
function spreadOther({ other, ...party }: JsonObject): JsonObject {
  return isJsonObject(other) ? Object.assign(other, party) : party
}

/**
 * The id of the writing key is sealed in the context. In entries of older versions it is in clear,
 * next to the context.
 */
function spreadContext(sealed: Json | undefined): JsonObject {
  if (!isJsonObject(sealed)) return {}
  const { keyId, ...context } = sealed
  return {
    ...(Object.keys(context).length === 0 ? {} : { context }),
    ...(keyId === undefined ? {} : { keyId }),
  }
}

export function receiptJson(
  { link, content }: OpenedEntry,
  present: Present,
  publicUrl: string,
): string {
  const { context, keyId, policyVersion } = content
  const provenance =
    context === undefined && keyId === undefined
      ? ""
      : `,"provenance":${canonicalize(provenanceOf(context, keyId))}`
  return (
    `{"accepted":true,"eventId":"${content.id}","receipt":"${content.receipt}","eventHash":"${toHex(link.hash)}",` +
    `"previousHash":"${toHex(link.previousHash)}","timestamp":"${isoTime(link.timeMs)}",` +
    `"actor":${partyJson(content.actor)},"target":${partyJson(content.target)},"lane":"${content.lane}",` +
    `"storageClass":"${present.storageClass}","verificationUrl":"${receiptUrl(publicUrl, content)}","queued":${present.queued},` +
    `"receivedAt":"${content.receivedAt}"${provenance}${policyVersion === undefined ? "" : `,"policyVersion":${policyVersion}`}}`
  )
}

export type Integrity = "verified" | "pending" | "erased" | "expired" | "broken"

/** The entry in the API's form. Absent members are undefined. */
export function entryOf(
  { kind, link, content }: OpenedEntry,
  present: Present,
  integrity: Integrity,
  isHeld = false,
): Complete<Entry> {
  const { context, keyId } = content
  return {
    workspaceId: content.workspaceId,
    projectId: content.projectId,
    action: content.action,
    actor: content.actor,
    target: content.target,
    occurredAt: content.occurredAt,
    source: content.source,
    metadata: content.metadata,
    userVisible: content.userVisible,
    id: content.id,
    sequence: link.sequence,
    hash: toHex(link.hash),
    previousHash: toHex(link.previousHash),
    receipt: content.receipt,
    lane: content.lane,
    storageTier: present.storageClass,
    integrity,
    held: isHeld ? true : undefined,
    kind,
    timestamp: isoTime(link.timeMs),
    receivedAt: content.receivedAt,
    provenance:
      context === undefined && keyId === undefined ? undefined : provenanceOf(context, keyId),
    policyVersion: content.policyVersion,
    clockAhead: content.clockAhead,
  }
}

function receiptUrl(
  publicUrl: string,
  { workspaceId, receipt }: Pick<Content, "workspaceId" | "receipt">,
): string {
  return `${publicUrl}/v1/workspaces/${workspaceId}/receipts/${receipt}`
}

/** The provenance as it is shown and sealed. */
export function provenanceOf(context: Context | undefined, keyId: string | undefined): JsonObject {
  return keyId === undefined ? { ...context } : { ...context, keyId }
}

/** Canonical JSON. Most parties have only the members that the format names, and only texts. */
function partyJson(party: Party): string {
  const { email, id, name, type } = party
  if (hasFurther(party) || typeof email === "object" || typeof name === "object")
    return canonicalize(party)
  return JSON.stringify({ email, id, name, type })
}

/** Whether a party has members that the format does not name. */
export function hasFurther(party: Party): boolean {
  for (const member in party)
    if (member !== "id" && member !== "type" && member !== "email" && member !== "name") return true
  return false
}
