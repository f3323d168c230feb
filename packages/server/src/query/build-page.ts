// Builds a page of entries, part by part: reads rows, verifies them and shows what the reader may
// see. Other requests run in between. A page ends before it exceeds its budget of bytes.

import { disclosuresFor, type Content, type Sight } from "../store/opened-entry.ts"
import type { Limits } from "../limits.ts"
import type { FairQueue } from "../runtime/fair-queue.ts"
import type { SharedPace } from "../runtime/pace.ts"
import { epochsOf, type Epoch } from "../store/epochs.ts"
import type { HeldEntries, HeldLog } from "../store/held-entries.ts"
import { systemProject } from "../store/search/searchable-fields.ts"
import { vkeyOf } from "../store/log-keys.ts"
import type { AlsoRead, Wanted } from "../store/search/search.ts"
import { bytesOf, type Stored } from "../store/entries.ts"
import type { Workspace } from "../store/documents.ts"
import type { Checkpoint } from "../store/index-state.ts"
import type { Store } from "../store/store.ts"
import {
  findEntries,
  findIncluded,
  showEntry,
  showProof,
  type IsHeld,
  type ReadEntries,
  type VerifiedEntry,
  type VerificationSource,
} from "./verified-entries.ts"

export interface PageSource {
  readonly store: VerificationSource & Pick<Store, "registry">
  readonly limits: Pick<Limits, "pageBytesMax">
  readonly pace: SharedPace
}

export interface Reader {
  readonly isProven: boolean
  /** The search, limited to what this reader may see. */
  readonly wanted: Wanted
  /** Absent for readers who may not see holds. */
  readonly isHeld?: IsHeld | undefined
  readonly signal?: AbortSignal
}

export interface BuiltPage {
  /** JSON objects. Fewer than requested if they are large. */
  readonly events: readonly Uint8Array[]
  readonly verified: boolean
}

/** The sequences of a page, and its first entries if they were read with the search. */
export interface FoundEntries {
  readonly sequences: readonly number[]
  readonly held?: HeldEntries
}

/**
 * The thread that searches also reads the first entries of a page, if the page can be built at
 * once. Otherwise they would wait in memory for its turn.
 */
export function alsoRead(
  { limits, store }: Pick<PageSource, "limits" | "store">,
  reading: Pick<FairQueue, "hasRoom">,
  workspace: Workspace,
  which: Pick<AlsoRead, "limit" | "isOldest">,
  isProven: boolean,
): () => AlsoRead | undefined {
  const bytesMax = Math.min(partBytesMax, limits.pageBytesMax)
  return () =>
    reading.hasRoom(workspace.id)
      ? { ...which, log: heldLog(store, workspace, isProven), bytesMax }
      : undefined
}

/** A page with proofs needs whole tiles, which contain its leaves. */
function heldLog(
  { checkpoints }: Pick<PageSource["store"], "checkpoints">,
  workspace: Workspace,
  isProven: boolean,
): HeldLog {
  const [epoch] = epochsOf(workspace)
  const { number, before } = epoch
  const signed = isProven ? undefined : checkpoints.known(epoch)
  const tree = signed && { size: signed.size, root: signed.root }
  return { workspace: workspace.id, number, before, tree }
}

/** Bytes of rows per question: enough for an ordinary page. */
const partBytesMax = 256 * 1024

export async function buildPage(
  source: PageSource,
  workspace: Workspace,
  { sequences, held }: FoundEntries,
  { isProven, wanted, isHeld, signal }: Reader,
  nowMs: number,
): Promise<BuiltPage> {
  const { store, limits } = source
  const pace = source.pace.of(workspace.id)
  const events: Uint8Array[] = []
  let bytes = 0
  let verified = true
  const vkeyFor = vkeysOf(store.registry)
  for (let next = held; events.length < sequences.length; next = undefined) {
    const bytesMax = Math.min(partBytesMax, limits.pageBytesMax - bytes)
    const left = sequences.slice(events.length)
    const found = next ?? (await store.held(heldLog(store, workspace, isProven), left, bytesMax))
    const read = readOf(workspace.id, left, found)
    for await (const one of findEntries(store, workspace, read, nowMs, pace)) {
      signal?.throwIfAborted()
      const found = isProven ? await findIncluded(store, one) : one
      const vkey = isProven ? await vkeyFor(found.epoch, found.proven.checkpoint) : undefined
      if (pace.isUp()) await pace.next()
      const event = Buffer.from(
        showRow({
          found,
          workspace,
          sight: sightOf(found.opened?.content, wanted),
          vkey,
          isHeld: await isHeld?.(found.stored),
        }),
      )
      // Bytes that are read count too: a reader who may see little must not cause unlimited reads.
      const size = Math.max(event.length, bytesOf(found.stored))
      if (events.length > 0 && bytes + size > limits.pageBytesMax) return { events, verified }
      events.push(event)
      bytes += size
      verified &&= found.integrity !== "broken"
    }
  }
  return { events, verified }
}

/** An entry and what a reader is shown of it; its proof too, if there is a key. */
export interface ShownRow {
  readonly found: VerifiedEntry
  readonly workspace: Workspace
  readonly sight: Sight
  readonly vkey: string | undefined
  readonly isHeld?: boolean | undefined
}

/**
 * What a reader may see is checked on the entry as well, because the search could be wrong. A
 * person sees only their own sealed fields, and none of an entry that is not about them.
 */
export function sightOf(
  content: Content | undefined,
  { projectIds, system, subject }: Wanted,
): Sight {
  if (content === undefined) return "none"
  const { actor, target, projectId } = content
  const isWithin =
    projectId === systemProject
      ? system !== "without"
      : projectIds === undefined || projectIds.includes(projectId)
  if (!isWithin) return "none"
  if (subject === undefined) return "all"
  const isActor = actor.id === subject.id && subject.types.includes(actor.type)
  const isTarget = target.id === subject.id && subject.types.includes(target.type)
  return isActor ? (isTarget ? "all" : "actor") : isTarget ? "target" : "none"
}

function readOf(workspace: string, sequences: readonly number[], held: HeldEntries): ReadEntries {
  const entries = held.entries
    .slice(0, sequences.length)
    .map((stored, place) => stored ?? missing(workspace, sequences[place] ?? 0))
  // The search found it, so it is in the index.
  return { ...held, entries, position: Number.MAX_SAFE_INTEGER }
}

/** An entry that the search has and the journal lacks is shown as broken, at its place. */
export function missing(workspace: string, sequence: number): Stored {
  const nothing = {
    receipt: "",
    idem: undefined,
    bodySalt: undefined,
    body: undefined,
    disclosures: "",
  }
  return { workspace, sequence, record: new Uint8Array(), ...nothing }
}

/** Looks up the key of each epoch once per page. */
export function vkeysOf(
  registry: Store["registry"],
): (epoch: Epoch, checkpoint: Checkpoint | undefined) => Promise<string> {
  const known = new Map<number, string>()
  return async (epoch, checkpoint) => {
    const vkey = known.get(epoch.number) ?? (await vkeyOf(registry, epoch, checkpoint?.note))
    known.set(epoch.number, vkey)
    return vkey
  }
}

export function showRow({ found, workspace, sight, vkey, isHeld }: ShownRow): string {
  const entry = showEntry(found, workspace, sight, isHeld)
  if (vkey === undefined) return entry
  return `${entry.slice(0, -1)},"proof":${showProof(found, vkey)},"disclosures":${JSON.stringify(disclosuresFor(found.stored, sight))}}`
}
