// Entries and the data that they are verified against, read at once: a page costs one question to
// the reader thread.

import type { Log } from "./epochs.ts"
import type { Stored } from "./entries.ts"
import type { Checkpoint } from "./index-state.ts"
import type { IndexReader, JournalReader } from "./store.ts"
import type { AlsoRead, Hits } from "./search/search.ts"
import { receivedOf, sentOf, type SentEntries } from "./sent-entries.ts"
import type { SignedTree } from "./tree-reads.ts"
import type { LeafReader } from "./leaf-reader.ts"

export interface HeldEntries {
  /** One for each sequence that was asked for, fewer if they are large (`JournalReader.at`). */
  readonly entries: readonly (Stored | undefined)[]
  /** The newest checkpoint of the requested epoch. */
  readonly checkpoint: Checkpoint | undefined
  /** The records before and after each entry that the checkpoint does not cover. */
  readonly neighbours: ReadonlyMap<number, Uint8Array | undefined>
  readonly leaves: HeldLeaves
}

/** Some leaves of the signed tree that was given. Those that could not be verified are zeros. */
export interface HeldLeaves {
  readonly indexes: readonly number[]
  readonly hashes: Uint8Array
}

export const noLeaves: HeldLeaves = { indexes: [], hashes: new Uint8Array() }

/** The same on its way to another thread. */
export interface SentHeld extends Omit<HeldEntries, "entries"> {
  readonly entries: SentEntries
}

export function sentHeld({ workspace }: Pick<HeldLog, "workspace">, held: HeldEntries): SentHeld {
  return { ...held, entries: sentOf(workspace, held.entries) }
}

export function receivedHeld(sent: SentHeld): HeldEntries {
  return { ...sent, entries: receivedOf(sent.entries) }
}

export interface HeldStore {
  readonly journal: Pick<JournalReader, "at" | "recordsAt">
  readonly index: Pick<IndexReader, "checkpoint">
  readonly fewLeaves: LeafReader["fewLeaves"]
}

/** The current epoch. */
export interface HeldLog extends Pick<Log, "workspace" | "number" | "before"> {
  /** A signed tree of it, whose leaves are read too. */
  readonly tree?: SignedTree | undefined
}

export async function readHeld(
  { journal, index, fewLeaves }: HeldStore,
  { workspace, number, before, tree }: HeldLog,
  sequences: readonly number[],
  bytesMax: number,
): Promise<HeldEntries> {
  const [entries, checkpoint] = await Promise.all([
    journal.at(workspace, sequences, bytesMax),
    index.checkpoint(workspace, number),
  ])
  const covered = checkpoint === undefined ? 0 : before + checkpoint.size
  const read = sequences.slice(0, entries.length)
  const around = neighboursOf(read.filter((sequence) => sequence > covered))
  const records = around.length === 0 ? [] : await journal.recordsAt(workspace, around)
  const indexes = leavesOf(read, before, tree?.size ?? 0)
  const log = { workspace, number, before, end: undefined }
  return {
    entries,
    checkpoint,
    neighbours: new Map(around.map((sequence, place) => [sequence, records[place]])),
    leaves:
      tree === undefined || indexes.length === 0
        ? noLeaves
        : { indexes, hashes: await fewLeaves(log, tree, indexes) },
  }
}

/** The leaves that these entries are compared with, of those that the tree has. */
function leavesOf(sequences: readonly number[], before: number, size: number): number[] {
  const indexes = new Set(sequences.flatMap((at) => [at - before - 2, at - before - 1]))
  return [...indexes].filter((index) => index >= 0 && index < size)
}

/** The sequences right before and after these, without these themselves. */
export function neighboursOf(sequences: readonly number[]): number[] {
  const around = new Set(sequences.flatMap((sequence) => [sequence - 1, sequence + 1]))
  for (const sequence of [0, ...sequences]) around.delete(sequence)
  return [...around]
}

/** Reads the entries that a search has found, in the same question. */
export async function withHeld(
  store: HeldStore,
  hits: Hits,
  also: AlsoRead | undefined,
): Promise<Hits> {
  if (also === undefined || hits.sequences.length === 0) return hits
  const { log, limit, isOldest, bytesMax } = also
  const sequences = isOldest
    ? hits.sequences.slice(-limit).toReversed()
    : hits.sequences.slice(0, limit)
  return { ...hits, held: await readHeld(store, log, sequences, bytesMax) }
}
