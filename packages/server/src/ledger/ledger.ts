// The write side: makes entries of drafts, seals and appends them, and returns the new entries or
// those that were recorded before.

import type { Kind } from "@tallystick/proof"
import { isoTime, type Clock } from "../clock.ts"
import {
  disclosuresOf,
  openEntry,
  type Complete,
  type Content,
  type OpenedEntry,
} from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import { Admission } from "./admission.ts"
import { idempotencySecret, type Keyring } from "../secrets/keyring.ts"
import type { Limits } from "../limits.ts"
import { unpaced, type Pace } from "../runtime/pace.ts"
import { isGone } from "../store/check-entry.ts"
import { readGone } from "../store/destroyed.ts"
import { epochsOf } from "../store/epochs.ts"
import type { Change, Workspace } from "../store/documents.ts"
import type { Stored } from "../store/entries.ts"
import type { Journal, Registry } from "../store/store.ts"
import { idemOf, sameRequest, withoutErased, type Route, type SameRequest } from "./idempotency.ts"
import { createIds, type MakeId } from "./ids.ts"
import { laneOf } from "./lane.ts"
import type { Chain, Placed } from "./groups.ts"
import { pooledRandom, type Random } from "./random.ts"
import { seal, type SealedEntry } from "./seal.ts"
import { createSequencer, type Sequencer, type SequencerReport } from "./sequencer.ts"

/** An entry before it has ids and a place. */
export interface Draft extends Omit<
  Content,
  "id" | "receipt" | "workspaceId" | "lane" | "receivedAt" | "clockAhead"
> {
  readonly kind: Kind
  readonly receivedAtMs: number
  readonly idempotency?: Idempotency
}

export interface Idempotency {
  readonly route: Route
  readonly key: string
}

export type RecordOutcome =
  | { readonly kind: "recorded"; readonly opened: OpenedEntry }
  /** The same request was recorded before, as this entry. */
  | { readonly kind: "replayed"; readonly opened: OpenedEntry }
  /** Another request was recorded under this key. */
  | { readonly kind: "reused"; readonly original: OpenedEntry }
  /** An entry was recorded under this key, and its content was destroyed since. */
  | { readonly kind: "gone"; readonly sequence: number; readonly receipt: string }

export interface Ledger {
  /**
   * Records drafts, each under its own key, and the changes in the same commit. `pace` lets other
   * requests run in between.
   */
  record(
    workspace: Workspace,
    drafts: readonly Draft[],
    changes?: readonly Change[],
    pace?: Pace,
  ): Promise<readonly RecordOutcome[]>
  knows(workspace: Workspace, idempotency: Idempotency): Promise<boolean>
  readonly makeId: MakeId
  readonly random: Random
  readonly sequencer: Sequencer
  /** Admission control for every entry and every request with a body. */
  readonly admission: Admission
}

export interface LedgerParts {
  readonly journal: Journal
  /** Knows the destroyed contents. */
  readonly registry: Pick<Registry, "get">
  readonly clock: Clock
  readonly limits: Limits
  readonly keyring: Keyring
  readonly report: SequencerReport
  readonly random?: Random
  readonly same?: SameRequest
}

export function createLedger({
  journal,
  registry,
  clock,
  limits,
  keyring,
  report,
  random = pooledRandom(),
  same = sameRequest,
}: LedgerParts): Ledger {
  const admission = new Admission(limits)
  const sequencer = createSequencer(journal, clock, limits, report)
  const makeId = createIds(random)
  const chainOf = chains(keyring)

  async function outcomesOf(
    chain: Chain,
    drafts: readonly Draft[],
    contents: readonly Content[],
    placed: readonly Placed[],
    pace: Pace,
  ): Promise<readonly RecordOutcome[]> {
    const recorded: RecordOutcome[] = []
    let originals: ReadonlyMap<number, Stored> | undefined
    let at = 0
    for (const { kind } of drafts) {
      if (pace.isUp()) await pace.next()
      // Each draft has a content at the same index.
      const content = contents[at] as Content
      const place = placed[at++] as Placed
      if (place.kind === "placed") {
        recorded.push({ kind: "recorded", opened: { kind, link: place.link, content } })
      } else {
        if (originals === undefined) {
          originals = await originalsOf(journal, chain, placed)
          // The answer arrived in this turn. Copying 8 MiB of entries took long, so they are
          // opened in the next turn.
          pace.isUp()
          await pace.next()
        }
        const original = originals.get(place.sequence)
        recorded.push(await recordedBefore({ registry, same }, kind, content, original, pace))
      }
    }
    return recorded
  }

  return {
    makeId,
    random,
    sequencer,
    admission,
    async record(workspace, drafts, changes, pace = unpaced) {
      const chain = chainOf(workspace)
      const contents: Content[] = []
      let placed: readonly Placed[]
      admission.takeEntries(workspace.id, drafts.length)
      try {
        const sealed: SealedEntry[] = []
        for (const one of drafts) {
          if (pace.isUp()) await pace.next()
          const content = contentOf(workspace, one, makeId, limits.clockAheadMs)
          contents.push(content)
          sealed.push(sealOne(workspace, chain, one, content, random))
        }
        placed = await sequencer.submit(chain, sealed, changes)
      } finally {
        admission.giveBackEntries(workspace.id, drafts.length)
      }
      try {
        return await outcomesOf(chain, drafts, contents, placed, pace)
      } catch (error) {
        throw notRefused(error, placed)
      }
    },
    knows: async (workspace, idempotency) =>
      (await journal.byKey(workspace.id, idemIn(chainOf(workspace), idempotency))) !== undefined,
  }
}

/**
 * The error if entries of used keys cannot be read. A refusal would say that nothing was recorded:
 * others may just have been, and of an entry that is not damaged a later request gets the receipt.
 */
function notRefused(error: unknown, placed: readonly Placed[]): unknown {
  const isRefusal = error instanceof LedgerError && error.code !== "ledger_unavailable"
  const hasRecorded = placed.some(({ kind }) => kind === "placed")
  if (!isRefusal || (error.code === "integrity_failure" && !hasRecorded)) return error
  return new LedgerError(
    "ledger_unavailable",
    "what was recorded under these keys cannot be read at this moment; repeat the same request",
    { cause: error },
  )
}

/** The outcome for a key that an earlier entry has. */
async function recordedBefore(
  { registry, same }: Required<Pick<LedgerParts, "registry" | "same">>,
  kind: Kind,
  content: Content,
  entry: Stored | undefined,
  pace: Pace,
): Promise<RecordOutcome> {
  const original = entry && openEntry(entry, disclosuresOf(entry))
  if (entry !== undefined && original === undefined && (await isDestroyed(registry, entry)))
    return { kind: "gone", sequence: entry.sequence, receipt: entry.receipt }
  if (entry === undefined || original === undefined)
    throw new LedgerError("integrity_failure", "the entry that this key belongs to cannot be read")
  if (pace.isUp()) await pace.next()
  if (!same(kind, original.content, content)) {
    const { body } = entry
    if (body === undefined || !(await areErased(registry, entry, original.missing)))
      return { kind: "reused", original }
    const left = withoutErased(content, original.content, body, original.missing)
    const kept = same(kind, original.content, left)
    return kept ? { kind: "replayed", opened: original } : { kind: "reused", original }
  }
  // The requests are equal, so keep only one copy of each part: 8 MiB of small parts take hundreds
  // of MiB.
  const { actor, target, metadata } = content
  return {
    kind: "replayed",
    opened: { ...original, content: { ...original.content, actor, target, metadata } },
  }
}

/** Whether these sealed fields were erased. False if the list is empty. */
async function areErased(
  registry: Pick<Registry, "get">,
  { workspace, sequence }: Stored,
  missing: readonly string[],
): Promise<boolean> {
  if (missing.length === 0) return false
  const gone = (await readGone(registry, workspace, [sequence]))(sequence)
  return missing.every((digest) => isGone(gone, digest))
}

async function isDestroyed(
  registry: Pick<Registry, "get">,
  { workspace, sequence, body }: Stored,
): Promise<boolean> {
  const goneAt = await readGone(registry, workspace, body === undefined ? [sequence] : [])
  return goneAt(sequence)?.what === "body"
}

async function originalsOf(
  journal: Journal,
  { workspace }: Chain,
  placed: readonly Placed[],
): Promise<ReadonlyMap<number, Stored>> {
  const sequences = placed.flatMap((one) => (one.kind === "used" ? [one.sequence] : []))
  const entries = await journal.at(workspace, sequences)
  return new Map(entries.flatMap((entry) => (entry === undefined ? [] : [[entry.sequence, entry]])))
}

function sealOne(
  { value }: Workspace,
  chain: KeyedChain,
  { kind, idempotency }: Draft,
  content: Content,
  random: Random,
): SealedEntry {
  const idem = idempotency === undefined ? undefined : idemIn(chain, idempotency)
  // The service's own entries, such as genesis and keys, concern no customer and stay readable.
  const personalKeys = kind === "event" || kind === "consent" ? value.personalKeys : []
  return seal(kind, content, idem, { personalKeys, random })
}

/**
 * Written as a literal, because every event passes here. The type makes sure that it names every
 * field.
 */
function contentOf(
  { id, value }: Workspace,
  draft: Draft,
  makeId: MakeId,
  clockAheadMs: number,
): Complete<Content> {
  const { action, occurredAt, receivedAtMs } = draft
  return {
    id: makeId("evt", receivedAtMs),
    receipt: makeId("rcp", receivedAtMs),
    workspaceId: id,
    projectId: draft.projectId,
    action,
    actor: draft.actor,
    target: draft.target,
    occurredAt,
    receivedAt: isoTime(receivedAtMs),
    source: draft.source,
    userVisible: draft.userVisible,
    lane: laneOf(action, value.laneRules),
    metadata: draft.metadata,
    policyVersion: draft.policyVersion,
    clockAhead:
      Date.parse(occurredAt.toUpperCase()) - receivedAtMs > clockAheadMs ? true : undefined,
    keyId: draft.keyId,
    context: draft.context,
  }
}

interface KeyedChain extends Chain {
  readonly idemSecret: Uint8Array
}

function idemIn({ idemSecret }: KeyedChain, { route, key }: Idempotency): string {
  return idemOf(idemSecret, route, key)
}

/** The constants of each workspace's chain, computed once. */
function chains(keyring: Keyring): (workspace: Workspace) => KeyedChain {
  const known = new Map<string, KeyedChain>()
  return (workspace) => {
    const { id, value } = workspace
    const seen = known.get(value.ledgerId)
    if (seen !== undefined) return seen
    const epochs = epochsOf(workspace)
    const [{ ledgerId, before }] = epochs
    if (ledgerId.length === 0) throw new Error(`the ledgerId of workspace ${id} is not a hash`)
    // All epochs derive it from the first ledger, so a key is found in any epoch.
    const first = epochs.at(-1) ?? epochs[0]
    const chain = {
      workspace: id,
      ledgerId,
      before,
      idemSecret: idempotencySecret(keyring, first.ledgerId, value.idempotency),
    }
    known.set(value.ledgerId, chain)
    return chain
  }
}
