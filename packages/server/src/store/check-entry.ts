// Checks a stored entry: its place in the chain, its body against its record, and everything stored
// with it against the body. A fault is a phrase that follows "entry 7: ".

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
} from "@tallystick/proof"
import { disclosuresOf } from "./opened-entry.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { ChainEntry } from "./linked-rows.ts"
import type { Stored } from "./store.ts"

/**
 * Checks the next entry of a chain and advances the chain. Returns its fields, or the fault.
 * `before` counts the entries of earlier epochs.
 */
export function takeEntry(chain: Chain, before: number, entry: ChainEntry): RecordFields | string {
  const { sequence, record } = entry
  if (sequence !== before + chain.index + 1)
    return `it is not there; the next one that is kept is entry ${sequence}`
  const fields = chain.take(record)
  if (typeof fields === "string") return placeWords(fields, record, chain)
  return bodyFault(fields, entry) ?? fields
}

/** Checks one entry alone, against the known facts of its place. */
export function checkEntry(entry: ChainEntry, place: Place): RecordFields | string {
  const fields = parseRecord(entry.record)
  const fault = fields === undefined ? "record" : placeFault(fields, place)
  if (fields === undefined || fault !== undefined) return placeWords(fault, entry.record, place)
  return bodyFault(fields, entry) ?? fields
}

/**
 * Returns the body without its sealed fields if everything stored with it fits it; else the fault.
 */
export function checkContents(entry: Stored): JsonObject | string {
  const { workspace, receipt, idem } = entry
  const body = entry.body === undefined ? "canonical" : parseBody(entry.body, workspace)
  if (typeof body === "string") return bodyWords[body]
  if (body["receipt"] !== receipt) return "it is filed under another receipt than its body says"
  if (body["idem"] !== idem) return "it is filed under another idempotency key than its body says"
  const opened = openBody(body, disclosuresOf(entry), sha256)
  if (!opened.ok) return `what is sealed in it does not fit: ${opened.reason}`
  // Nothing is erased yet, so every disclosure must be there.
  return opened.withheld > 0
    ? `${opened.withheld} of what is sealed in it is not there, and no entry says that it was erased`
    : body
}

const bodyWords: Readonly<Record<BodyFault, string>> = {
  canonical: "the body is not an object in canonical form",
  version: "the body is of another version",
  workspace: "the body is of another workspace",
}

function bodyFault(fields: RecordFields, { body, bodySalt }: ChainEntry): string | undefined {
  if (body === undefined || bodySalt === undefined)
    return "the body is not there, and no entry says that it was removed"
  return commitsTo(fields, bodySalt, body, sha256) ? undefined : "the body has another hash"
}

function placeWords(
  fault: ReturnType<typeof placeFault> | "record",
  record: Uint8Array,
  { previousHash }: Place,
): string {
  const fields = parseRecord(record)
  const [index, link] = [fields?.index ?? 0, fields?.previousHash ?? new Uint8Array()]
  switch (fault) {
    case undefined:
    case "record":
      return "the record cannot be read"
    case "index":
      return `the record says index ${index}`
    case "ledger":
      return "the record is of another ledger"
    case "link":
      return `the record follows ${toHex(link)}, the entry before it is ${toHex(previousHash ?? new Uint8Array())}`
    case "time":
      return "the record is older than the one before it"
  }
}
