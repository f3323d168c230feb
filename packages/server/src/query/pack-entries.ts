// The entries of an evidence pack, read from the journal and hashed again: what does not hold together goes into no pack.

import {
  bodyHash,
  equalBytes,
  eventHash,
  fromHex,
  isJsonObject,
  parseJson,
  parseRecord,
  toHex,
  type JsonObject,
  type RecordFields,
} from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import { sha256 } from "../sha256.ts"
import type { Document, Stored } from "../store/store.ts"
import type { Kept } from "./tree-reads.ts"

export interface Read {
  readonly stored: Stored
  readonly record: RecordFields
  /** In hex. */
  readonly eventHash: string
  readonly sequence: number
  readonly salt: Uint8Array
  readonly bodyText: string
  /** Without what is sealed. */
  readonly body: JsonObject
}

/** Entries read at a time: their work is over before anybody else notices that they waited. */
const batch = 32

/** The entries of these sequences, a batch at a time, in their order. */
export async function* readEntries(
  { journal }: Kept,
  workspace: Document<"workspace">,
  sequences: readonly number[],
): AsyncGenerator<readonly Read[]> {
  const ledgerId = fromHex(workspace.value.ledgerId)
  if (ledgerId === undefined) throw new Error(`the ledgerId of workspace ${workspace.id} is not a hash`)
  for (let at = 0; at < sequences.length; at += batch) {
    const stored = await journal.at(workspace.id, sequences.slice(at, at + batch))
    yield stored.map((entry, place) => readEntry(entry, sequences[at + place] ?? 0, ledgerId))
  }
}

function readEntry(stored: Stored | undefined, sequence: number, ledgerId: Uint8Array): Read {
  const record = stored && parseRecord(stored.record)
  const { body, bodySalt: salt } = stored ?? {}
  if (stored === undefined || record === undefined || body === undefined || salt === undefined) throw broken(sequence)
  const holds =
    record.index === sequence - 1 && equalBytes(record.ledgerId, ledgerId) && equalBytes(bodyHash(salt, body, sha256), record.bodyHash)
  const bodyText = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8")
  const parsed = parseJson(bodyText)
  if (!holds || !isJsonObject(parsed) || parsed["receipt"] !== stored.receipt) throw broken(sequence)
  return { stored, record, eventHash: toHex(eventHash(stored.record, sha256)), sequence, salt, bodyText, body: parsed }
}

export function broken(sequence: number): LedgerError {
  return new LedgerError("integrity_failure", `entry ${sequence} does not hold together, so no evidence can be given of it`)
}
