// Checks a stored entry: its place in the chain, its body against its record, and everything stored
// with it against the body. A fault is a phrase that follows "entry 7: ". Content that was
// destroyed on purpose is no fault: if something is missing, the caller passes the record of its
// destruction (destroyed.ts).

import {
  commitsTo,
  openBody,
  parseRecord,
  placeFault,
  parseBody,
  toHex,
  type BodyFault,
  type Chain,
  type JsonObject,
  type Place,
  type RecordFields,
  type SealFailure,
} from "@tallystick/proof"
import type { Gone } from "./destroyed.ts"
import { disclosuresOf } from "./opened-entry.ts"
import { disclosureDigest, sha256 } from "../runtime/sha256.ts"
import type { ChainEntry } from "./linked-rows.ts"
import type { Stored } from "./entries.ts"

/**
 * Checks the next entry of a chain and advances the chain. Returns its fields, or the fault.
 * `before` counts the entries of earlier epochs.
 */
export function takeEntry(
  chain: Chain,
  before: number,
  entry: ChainEntry,
  gone?: Gone,
): RecordFields | string {
  const { sequence, record } = entry
  if (sequence !== before + chain.index + 1)
    return `it is missing; the next stored entry is ${sequence}`
  const fields = chain.take(record)
  if (typeof fields === "string") return placeWords(fields, record, chain)
  return bodyFault(fields, entry, gone) ?? fields
}

/** Checks one entry alone, against the known facts of its place. */
export function checkEntry(
  entry: ChainEntry,
  place: Place,
  gone?: Gone,
  fields = parseRecord(entry.record),
): RecordFields | string {
  const fault = fields === undefined ? "record" : placeFault(fields, place)
  if (fields === undefined || fault !== undefined) return placeWords(fault, entry.record, place)
  return bodyFault(fields, entry, gone) ?? fields
}

/**
 * Returns the body without its sealed fields if everything stored with it matches, else the fault.
 * Undefined if the body is recorded as destroyed.
 */
export function checkContents(entry: Stored, gone?: Gone): JsonObject | string | undefined {
  const { workspace, receipt, idem } = entry
  if (entry.body === undefined && gone?.what === "body") return undefined
  const body = entry.body === undefined ? "canonical" : parseBody(entry.body, workspace)
  if (typeof body === "string") return bodyWords[body]
  if (body["receipt"] !== receipt) return "it is stored under another receipt than its body names"
  if (body["idem"] !== idem) return "it is stored under another idempotency key than its body names"
  const opened = openBody(body, disclosuresOf(entry), sha256, disclosureDigest)
  if (!opened.ok) return `its sealed fields do not match its body: ${sealWords[opened.reason]}`
  const lost = opened.missing.filter((digest) => !isGone(gone, digest))
  return lost.length > 0
    ? `${lost.length} of its sealed fields are missing, and no entry records that they were erased`
    : body
}

/** While a body is being destroyed, its sealed fields may disappear first. */
export function isGone(gone: Gone | undefined, digest: string): boolean {
  return gone?.what === "body" || gone?.digests.has(digest) === true
}

const bodyWords: Readonly<Record<BodyFault, string>> = {
  canonical: "the body is not a JSON object in canonical form",
  version: "the body has an unknown version",
  workspace: "the body names another workspace",
}

const sealWords: Readonly<Record<SealFailure, string>> = {
  malformed: "they are not of the form in docs/format.md",
  unmatched: "the body has no digest of one of them",
  repeated: "one of them, or its digest, is there twice",
  name: "the body already has a member of that name",
}

function bodyFault(
  fields: RecordFields,
  { body, bodySalt }: ChainEntry,
  gone: Gone | undefined,
): string | undefined {
  if (body === undefined && gone?.what === "body") return undefined
  if (body === undefined || bodySalt === undefined)
    return "its body is missing, and no entry records that it was removed"
  return commitsTo(fields, bodySalt, body, sha256)
    ? undefined
    : "its body does not match the hash in its record"
}

function placeWords(
  fault: ReturnType<typeof placeFault> | "record",
  record: Uint8Array,
  place: Place,
): string {
  const fields = parseRecord(record)
  const [named, is] = [fields?.previousHash, place.previousHash].map((hash) =>
    toHex(hash ?? new Uint8Array()),
  )
  switch (fault) {
    case undefined:
    case "record":
      return "its record cannot be read"
    case "index":
      return `its record has the index ${fields?.index} instead of ${place.index}`
    case "ledger":
      return "its record belongs to another ledger"
    case "link":
      return `its record links to the hash ${named} instead of ${is}`
    case "time":
      return "its record has an earlier time than the previous entry"
  }
}
