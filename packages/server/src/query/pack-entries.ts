// Reads the entries of an evidence pack from the journal and verifies them. A broken entry goes
// into no pack.

import {
  eventHash,
  isJsonObject,
  parseRecord,
  toHex,
  type Json,
  type JsonObject,
  type RecordFields,
} from "@tallystick/proof"
import { bufferOf } from "../runtime/buffer-of.ts"
import { LedgerError } from "../error.ts"
import type { SharedPace } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import { checkContents, checkEntry } from "../store/check-entry.ts"
import { readGone, type Gone } from "../store/destroyed.ts"
import { epochAt, epochsOf, type Epoch } from "../store/epochs.ts"
import type { Workspace } from "../store/documents.ts"
import type { Stored } from "../store/entries.ts"
import { parsedBody } from "../store/opened-entry.ts"
import type { JournalReader, Registry } from "../store/store.ts"

export interface PackEntry {
  readonly stored: Stored
  readonly record: RecordFields
  readonly eventHash: string
  readonly sequence: number
  readonly salt: Uint8Array
  readonly bodyText: string
  /** Without sealed fields. */
  readonly body: JsonObject
}

export interface EntrySource {
  readonly journal: Pick<JournalReader, "at">
  readonly registry: Pick<Registry, "get">
  readonly pace: SharedPace
}

const batchEntries = 32
const batchBytes = 64 * 1024

/** The entries of these sequences in the same order, in batches. */
export function readEntries(
  source: EntrySource,
  workspace: Workspace,
  sequences: readonly number[],
): AsyncGenerator<readonly PackEntry[]> {
  return batchesOf(source, workspace, sequences, verified)
}

/** The same for entries whose texts are compared with those that `readEntries` gave. */
export function readAgain(
  source: EntrySource,
  workspace: Workspace,
  sequences: readonly number[],
): AsyncGenerator<readonly PackEntry[]> {
  return batchesOf(source, workspace, sequences, parsedWhenAsked)
}

async function* batchesOf(
  { journal, registry, pace: shared }: EntrySource,
  workspace: Workspace,
  sequences: readonly number[],
  open: typeof verified,
): AsyncGenerator<readonly PackEntry[]> {
  const epochs = epochsOf(workspace)
  const pace = shared.of(workspace.id)
  for (let at = 0; at < sequences.length;) {
    const batch = sequences.slice(at, at + batchEntries)
    const stored = await journal.at(workspace.id, batch, batchBytes)
    if (pace.isUp()) await pace.next()
    const goneAt = await readGone(registry, workspace.id, batch.slice(0, stored.length))
    const read = stored.map((entry, place) => {
      const sequence = batch[place] ?? 0
      return readEntry(entry, sequence, epochAt(epochs, sequence), goneAt(sequence), open)
    })
    // To read a body of 256 KiB takes 10 ms, and to write its row as long again.
    if (pace.isUp()) await pace.next()
    yield read
    at += stored.length
  }
}

function readEntry(
  stored: Stored | undefined,
  sequence: number,
  epoch: Epoch,
  gone: Gone | undefined,
  open: typeof verified,
): PackEntry {
  const { body: bytes, bodySalt: salt } = stored ?? {}
  if (stored !== undefined && bytes === undefined && gone?.what === "body")
    throw new LedgerError(
      "content_gone",
      `the content of entry ${sequence} was destroyed, so no evidence can be given of it`,
    )
  if (stored === undefined || bytes === undefined || salt === undefined) throw broken(sequence)
  const opened = open(stored, sequence, epoch, gone)
  if (opened === undefined) throw broken(sequence)
  const bodyText = bufferOf(bytes).toString("utf8")
  return Object.assign(opened, {
    stored,
    eventHash: toHex(eventHash(stored.record, sha256)),
    sequence,
    salt,
    bodyText,
  })
}

type Opened = Pick<PackEntry, "record" | "body">

function verified(
  stored: Stored,
  sequence: number,
  { ledgerId, before }: Epoch,
  gone: Gone | undefined,
): Opened | undefined {
  const record = checkEntry(stored, { ledgerId, index: sequence - 1 - before })
  const body = checkContents(stored, gone)
  return typeof record === "string" || typeof body !== "object" ? undefined : { record, body }
}

function parsedWhenAsked(stored: Stored, sequence: number): Opened | undefined {
  const record = parseRecord(stored.record)
  let body: Json | undefined
  return (
    record && {
      record,
      get body() {
        body ??= parsedBody(stored.body)
        if (!isJsonObject(body)) throw broken(sequence)
        return body
      },
    }
  )
}

export function broken(sequence: number): LedgerError {
  return new LedgerError(
    "integrity_failure",
    `entry ${sequence} fails its integrity check, so no evidence can be given of it`,
  )
}
