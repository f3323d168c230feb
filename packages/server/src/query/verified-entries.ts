// Verifies stored entries before they are shown. Each is hashed again and compared with its leaf in
// the signed tree, or with its neighbours if no signed tree covers it yet. An entry that fails is
// shown as broken.

import {
  equalBytes,
  eventHash,
  formatTlogProof,
  hashBytes,
  maskEmail,
  parseRecord,
  recordBytes,
  toBase64,
  toHex,
  type JsonObject,
  type RecordFields,
} from "@tallystick/proof"
import type { Entry } from "@tallystick/client/wire"
import { dayMs } from "../clock.ts"
import {
  contentFor,
  disclosuresFor,
  disclosuresOf,
  entryOf,
  openEntry,
  receiptJson,
  type Complete,
  type Content,
  type Integrity,
  type Link,
  type OpenedEntry,
  type Present,
  type ReadEntry,
  type Sight,
} from "../store/opened-entry.ts"
import type { Pace } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import { checkEntry, isGone } from "../store/check-entry.ts"
import { readGone, type Gone } from "../store/destroyed.ts"
import { epochAt, epochsOf, type Epoch } from "../store/epochs.ts"
import { neighboursOf, noLeaves, type HeldEntries, type HeldLeaves } from "../store/held-entries.ts"
import type { Workspace } from "../store/documents.ts"
import type { Stored } from "../store/entries.ts"
import type { Checkpoint } from "../store/index-state.ts"
import type { IndexReader, JournalReader, Registry, Store } from "../store/store.ts"
import { none, type Checkpoints, type ProvenTree } from "./verified-checkpoints.ts"
import { isLeaf, type Leaves } from "./verified-leaves.ts"

export interface VerifiedEntry {
  readonly epoch: Epoch
  readonly proven: ProvenTree
  readonly stored: Stored
  readonly opened: ReadEntry | undefined
  readonly integrity: Integrity
  readonly present: Present
  /** The hashes that lead to the checkpoint's root; absent while no checkpoint covers the entry. */
  readonly inclusion:
    | { readonly checkpoint: Checkpoint; readonly hashes: readonly Uint8Array[] }
    | undefined
}

/** The same, and where one entry alone is read. */
export interface VerificationSource
  extends
    Omit<EntrySource, "journal" | "index" | "registry">,
    Pick<Store, "journal" | "index" | "search" | "held" | "registry"> {}

/** What entries are compared with, and where broken ones are reported. */
export interface EntrySource {
  readonly journal: Pick<JournalReader, "recordsAt">
  readonly index: Pick<IndexReader, "tiles">
  readonly registry: Pick<Registry, "get">
  readonly checkpoints: Checkpoints
  readonly leaves: Leaves
  /** The first broken entry of a workspace, if its chain is known to be broken. */
  readonly haltedFrom: (workspace: string) => number | undefined
  readonly suspect: (workspace: string, sequence: number) => void
}

/** Entries whose tiles and destroyed content are read at once: two milliseconds if all tiles are read. */
const leavesAtOnce = 16
const unproven = new Uint8Array(hashBytes)

/** Entries that were read, with the stored checkpoint of the current epoch. */
export interface ReadEntries extends Omit<HeldEntries, "entries"> {
  readonly entries: readonly Stored[]
  /** The search finds entries up to and including this sequence. */
  readonly position: number
}

/** Neighbours and leaves are then read when they are needed. */
export const nothingHeld: Pick<HeldEntries, "neighbours" | "leaves"> = {
  neighbours: new Map(),
  leaves: noLeaves,
}

/** Verifies entries of a workspace, one after another. */
export async function* findEntries(
  source: EntrySource,
  workspace: Workspace,
  { entries, checkpoint, neighbours, leaves: held, position }: ReadEntries,
  nowMs: number,
  pace: Pace,
): AsyncGenerator<VerifiedEntry> {
  const epochs = epochsOf(workspace)
  const used = new Set(entries.map(({ sequence }) => epochAt(epochs, sequence)))
  const proven = await Promise.all(
    epochs.map(async (epoch) =>
      used.has(epoch) ? source.checkpoints.of(workspace, epoch, { checkpoint }) : none,
    ),
  )
  const placed = entries.map((stored): PlacedEntry => {
    const epoch = epochAt(epochs, stored.sequence)
    return {
      epoch,
      proven: proven[epochs.indexOf(epoch)] ?? none,
      stored,
      index: stored.sequence - 1 - epoch.before,
    }
  })
  const recordAt = await readNeighbours(source.journal, workspace.id, placed, neighbours)
  const leaves = withHeldLeaves(source.leaves, epochs[0], held)
  const readLeaves = async (from: number): Promise<void> =>
    readLeavesOf(leaves, placed.slice(from, from + leavesAtOnce))
  let reading = readLeaves(0)
  for (let from = 0; from < placed.length; from += leavesAtOnce) {
    // Some at once, so that reads of the tree alternate with those of other requests; the next ones
    // while these are verified.
    const some = placed.slice(from, from + leavesAtOnce)
    const opened = await openSome(source.registry, workspace.id, some, pace)
    await reading
    reading = readLeaves(from + leavesAtOnce)
    // Nobody may wait for them: an error is then of no entry.
    reading.catch(() => {})
    for (const { place, record, opened: one, gone } of opened) {
      if (pace.isUp()) await pace.next()
      const { epoch, proven, stored } = place
      const link = one?.link ?? linkOf(stored)
      const known = { ...place, record, leaves }
      const integrity = await integrityOf(source, known, one, link, gone, recordAt)
      if (integrity === "broken") source.suspect(workspace.id, stored.sequence)
      const storageClass =
        link !== undefined && link.timeMs < archivedBefore(workspace, nowMs) ? "archive" : "hot"
      const present: Present = { queued: position < stored.sequence, storageClass }
      yield { epoch, proven, stored, opened: one, inclusion: undefined, integrity, present }
    }
  }
}

/** Verifies one entry, and adds its proof if a checkpoint covers it. */
export async function findReceipt(
  source: VerificationSource,
  workspace: Workspace,
  stored: Stored,
  nowMs: number,
  pace: Pace,
): Promise<VerifiedEntry> {
  const { id } = workspace
  const [position, checkpoint] = await Promise.all([
    source.search.position(id),
    source.index.checkpoint(id, epochsOf(workspace)[0].number),
  ])
  const read = { entries: [stored], checkpoint, ...nothingHeld, position }
  for await (const found of findEntries(source, workspace, read, nowMs, pace))
    return findIncluded(source, found)
  throw new Error("one entry has one finding")
}

/**
 * Adds the hashes that lead from a verified entry to the checkpoint. Without them the entry is
 * broken.
 */
export async function findIncluded(
  source: EntrySource,
  found: VerifiedEntry,
): Promise<VerifiedEntry> {
  const { epoch, stored, integrity } = found
  const { checkpoint, tree } = found.proven
  const index = stored.sequence - 1 - epoch.before
  const link = linkOf(stored)
  if (integrity === "broken" || integrity === "pending") return found
  if (link === undefined || checkpoint === undefined || index >= checkpoint.size) return found
  const hashes = tree && (await source.leaves.prove(epoch, tree, checkpoint, index, link.hash))
  if (hashes !== undefined) return { ...found, inclusion: { checkpoint, hashes } }
  source.suspect(stored.workspace, stored.sequence)
  return { ...found, integrity: "broken" }
}

interface PlacedEntry {
  readonly epoch: Epoch
  readonly proven: ProvenTree
  readonly stored: Stored
  readonly index: number
}

/** What was destroyed is read at once, for the entries that lack something. */
async function openSome(
  registry: EntrySource["registry"],
  workspace: string,
  placed: readonly PlacedEntry[],
  pace: Pace,
) {
  const read = []
  for (const place of placed) {
    if (pace.isUp()) await pace.next()
    const record = parseRecord(place.stored.record)
    const opened = openEntry(place.stored, disclosuresOf(place.stored), record)
    const isWhole = place.stored.body !== undefined && (opened?.missing.length ?? 0) === 0
    read.push({ place, record, opened, isWhole })
  }
  const lacking = read.flatMap(({ place, isWhole }) => (isWhole ? [] : [place.stored.sequence]))
  const goneAt = await readGone(registry, workspace, lacking)
  return read.map((one) => ({ ...one, gone: goneAt(one.place.stored.sequence) }))
}

/** Loads the leaves that these entries are compared with. */
async function readLeavesOf(leaves: Leaves, placed: readonly PlacedEntry[]): Promise<void> {
  const ofEpochs = Map.groupBy(placed, ({ epoch }) => epoch)
  await Promise.all(
    [...ofEpochs].map(async ([epoch, entries]) => {
      const tree = entries[0]?.proven.tree
      if (tree === undefined) return
      const indexes = new Set(entries.flatMap(({ index }) => [index - 1, index]))
      const within = [...indexes].filter(
        (at) => at >= 0 && at < tree.size && leaves.known(epoch, at) === undefined,
      )
      await leaves.load(epoch, tree, within)
    }),
  )
}

/** Also knows the leaves of the current epoch that were read with the entries. */
function withHeldLeaves(leaves: Leaves, current: Epoch, { indexes, hashes }: HeldLeaves): Leaves {
  const held = new Map<number, Uint8Array>()
  for (const [place, index] of indexes.entries()) {
    const leaf = hashes.subarray(place * hashBytes, (place + 1) * hashBytes)
    if (!equalBytes(leaf, unproven)) held.set(index, leaf)
  }
  return {
    ...leaves,
    known: (log, index) =>
      (log === current ? held.get(index) : undefined) ?? leaves.known(log, index),
  }
}

async function integrityOf(
  { haltedFrom }: Pick<EntrySource, "haltedFrom">,
  {
    epoch,
    proven: { checkpoint, tree, isForged },
    stored,
    index,
    record,
    leaves,
  }: PlacedEntry & { readonly record: RecordFields | undefined; readonly leaves: Leaves },
  opened: ReadEntry | undefined,
  link: Link | undefined,
  gone: Gone | undefined,
  recordAt: (sequence: number) => Uint8Array | undefined,
): Promise<Integrity> {
  if (
    link === undefined ||
    (opened === undefined && (stored.body !== undefined || gone?.what !== "body")) ||
    isForged ||
    typeof checkEntry(stored, { ledgerId: epoch.ledgerId, index }, gone, record) === "string" ||
    opened?.missing.some((digest) => !isGone(gone, digest)) === true
  )
    return "broken"
  const { hash, previousHash, sequence } = link
  const leafBefore =
    index > 0 && tree !== undefined && index <= tree.size
      ? (leaves.known(epoch, index - 1) ?? (await leaves.at(epoch, tree, index - 1)))
      : undefined
  if (tree !== undefined && index < tree.size) {
    if (!(await isLeaf(leaves, epoch, tree, index, hash))) return "broken"
    // The tree has the hash of the entry before, even if that entry is damaged.
    if (leafBefore !== undefined && !equalBytes(previousHash, leafBefore)) return "broken"
    return checkpoint !== undefined && index < checkpoint.size
      ? (shownGone(opened, gone) ?? "verified")
      : "pending"
  }
  if (sequence >= (haltedFrom(stored.workspace) ?? Infinity)) return "broken"
  const before = index === 0 ? epoch.ledgerId : (leafBefore ?? hashOf(recordAt(sequence - 1)))
  const next = parseRecord(recordAt(sequence + 1) ?? new Uint8Array())
  const isLinked =
    before !== undefined &&
    equalBytes(previousHash, before) &&
    (next === undefined || equalBytes(next.previousHash, hash))
  return isLinked ? "pending" : "broken"
}

/** How the destroyed content of an entry is called: `erased` or `expired`. */
function shownGone(opened: ReadEntry | undefined, gone: Gone | undefined): Integrity | undefined {
  const isWhole = opened !== undefined && opened.missing.length === 0
  return isWhole ? undefined : gone?.why
}

/** The index of an entry from its record; undefined if the record cannot be read. */
function linkOf({ sequence, record }: Stored): Link | undefined {
  const fields = parseRecord(record)
  if (fields === undefined) return undefined
  const { timeMs, previousHash } = fields
  return { sequence, timeMs, hash: eventHash(record, sha256), previousHash }
}

/** Reads those neighbours of entries that no signed tree covers which were not read with them. */
async function readNeighbours(
  journal: EntrySource["journal"],
  workspace: string,
  placed: readonly PlacedEntry[],
  neighbours: HeldEntries["neighbours"],
): Promise<(sequence: number) => Uint8Array | undefined> {
  const known = new Map(neighbours)
  for (const { stored } of placed) known.set(stored.sequence, stored.record)
  const open = placed.filter(({ proven: { tree }, index }) => index >= (tree?.size ?? 0))
  const around = neighboursOf(open.map(({ stored }) => stored.sequence))
  const wanted = around.filter((sequence) => !known.has(sequence))
  const read = wanted.length === 0 ? [] : await journal.recordsAt(workspace, wanted)
  for (const [at, sequence] of wanted.entries()) known.set(sequence, read[at])
  return (sequence) => known.get(sequence)
}

function hashOf(record: Uint8Array | undefined): Uint8Array | undefined {
  return record?.length === recordBytes ? eventHash(record, sha256) : undefined
}

/** Entries recorded before this time are in the archive. */
export function archivedBefore({ value }: Workspace, nowMs: number): number {
  return nowMs - value.hotDays * dayMs
}

export interface ShownReceipt {
  readonly receipt: string
  readonly entry: string
  readonly verified: boolean
  readonly proof: string
  readonly disclosures: readonly string[]
}

/** The public form of a receipt. Without `clear`, sealed fields and the context are withheld. */
export function showReceipt(
  found: VerifiedEntry,
  workspace: Workspace,
  vkey: string,
  publicUrl: string,
  clear: boolean,
  isHeld?: boolean,
): ShownReceipt {
  const { stored, integrity, present } = found
  const sight = clear ? "all" : "none"
  return {
    receipt: receiptJson(viewOf(found, workspace.id, sight), present, publicUrl),
    entry: showEntry(found, workspace, sight, isHeld),
    verified: integrity !== "broken",
    proof: showProof(found, vkey),
    disclosures: disclosuresFor(stored, sight),
  }
}

export function showEntry(...shown: Parameters<typeof seenEntry>): string {
  return JSON.stringify(seenEntry(...shown))
}

/** The entry as a reader with this sight sees it. */
export function seenEntry(
  found: VerifiedEntry,
  { id }: Workspace,
  sight: Sight,
  isHeld?: boolean,
): Complete<Entry> {
  const view = viewOf(found, id, sight)
  return entryOf(view, found.present, found.integrity, isHeld)
}

/** Whether a hold covers an entry, for readers who may see holds. */
export type IsHeld = (stored: Stored) => Promise<boolean>

export function showProof(found: VerifiedEntry, vkey: string): string {
  const { record, body, bodySalt } = found.stored
  const { geneses } = found.epoch
  return JSON.stringify({
    record: toBase64(record),
    body: body === undefined ? null : Buffer.from(body).toString("utf8"),
    bodySalt: body === undefined || bodySalt === undefined ? null : toHex(bodySalt),
    vkey,
    tlogProof: tlogProofOf(found) ?? null,
    // A verifier needs them to compute the sequence from the record.
    ...(geneses.length > 1 && { geneses }),
  })
}

/** The proof in the C2SP form; undefined while no checkpoint covers the entry. */
export function tlogProofOf({ epoch, stored, inclusion }: VerifiedEntry): string | undefined {
  if (inclusion === undefined) return undefined
  const { checkpoint, hashes } = inclusion
  return formatTlogProof({
    extra: stored.record,
    index: stored.sequence - 1 - epoch.before,
    hashes,
    checkpoint: checkpoint.note,
  })
}

function viewOf({ stored, opened }: VerifiedEntry, workspaceId: string, sight: Sight): OpenedEntry {
  if (opened === undefined) return unreadable(stored, workspaceId)
  if (sight === "all") return opened
  const seen = contentFor(opened, sight)
  if (seen === undefined) return unreadable(stored, workspaceId)
  const withEmail = (party: Content["actor"], inClear: Content["actor"]) =>
    party["email"] === undefined && typeof inClear["email"] === "string"
      ? { ...party, email: maskEmail(inClear["email"]) }
      : party
  // The context of a request belongs to the actor.
  const { context, keyId } = sight === "actor" ? seen : noCircumstances
  return {
    kind: opened.kind,
    link: opened.link,
    content: {
      ...seen,
      context,
      keyId,
      actor: withEmail(seen.actor, opened.content.actor),
      target: withEmail(seen.target, opened.content.target),
    },
  }
}

const noCircumstances: Pick<Content, "context" | "keyId"> = {}

/**
 * An entry that is unreadable or without its body is still shown, at its place and with its record's
 * hash.
 */
function unreadable({ sequence, record, receipt }: Stored, workspaceId: string): OpenedEntry {
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
    link: {
      sequence,
      timeMs: fields?.timeMs ?? 0,
      hash,
      previousHash: fields?.previousHash ?? nothing,
    },
    content,
  }
}
