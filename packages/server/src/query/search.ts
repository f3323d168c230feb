// Pages of entries. The search says where, never what: each entry of a page is read from the journal, hashed again, and held against
// the record before it.

import { parseRecord } from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import { disclosuresFor, type Content, type Sight } from "../entry.ts"
import { checkpointFor, epochAt, epochsOf, type Epoch } from "../store/epochs.ts"
import type { Checkpoint, Document, Registry, Store, Stored } from "../store/store.ts"
import { vkeyOf } from "../store/log-keys.ts"
import type { Hits, Wanted } from "../store/search.ts"
import { archivedBefore, findIncluded, findLinked, showEntry, showProof, type Found } from "./receipt.ts"

export interface PageRequest {
  readonly wanted: Wanted
  /** Which part of the ledger is looked through, by age. */
  readonly storage: "hot" | "archive" | "all"
  /** Entries below this sequence; 0 begins at the newest. */
  readonly cursor: number
  readonly limit: number
  /** Each entry comes with its proof. */
  readonly isProven: boolean
  /** What of an entry this reader sees. */
  readonly sightOf: (content: Content) => Sight
}

export interface EntryPage {
  /** As JSON, each an object of its own. */
  readonly events: readonly string[]
  readonly total: number
  readonly nextCursor: number
  readonly hasMore: boolean
  readonly verified: boolean
}

export interface Queries {
  page(workspace: Document<"workspace">, request: PageRequest, nowMs: number): Promise<EntryPage>
  /** The sequences of all that match, in order; only how many they are if that is more than `most`. */
  all(
    workspace: Document<"workspace">,
    request: Pick<PageRequest, "wanted" | "storage">,
    most: number,
    nowMs: number,
  ): Promise<{ readonly sequences: readonly number[]; readonly total: number }>
}

/** Matches that are asked for at once when all of them are wanted. */
const allAtOnce = 1000

/** `file` has everything filed that was recorded in a workspace; it rejects with a LedgerError if that takes too long. */
export function createQueries(
  store: Pick<Store, "journal" | "index" | "search" | "registry">,
  file: (workspace: string) => Promise<void>,
): Queries {
  const hotFrom = createArchiveEnds(store)
  const find = async (workspace: string, wanted: Wanted, before: number, limit: number): Promise<Hits> => {
    const hits = await store.search.find(workspace, wanted, before, limit)
    if (hits !== undefined) return hits
    await file(workspace)
    const again = await store.search.find(workspace, wanted, before, limit)
    if (again === undefined)
      throw new LedgerError("ledger_unavailable", "more is being recorded than can be found in time; ask again in a moment")
    return again
  }

  return {
    async page(workspace, { wanted, storage, cursor, limit, isProven, sightOf }, nowMs) {
      const bounds = storage === "all" ? {} : boundsOf(storage, await hotFrom(workspace, nowMs))
      const before = cursor === 0 ? Number.MAX_SAFE_INTEGER : cursor
      const hits = await find(workspace.id, { ...wanted, ...bounds }, before, limit)
      const found = await findAll(store, workspace, hits.sequences, nowMs, isProven)
      const vkeys = isProven ? await vkeysOf(store.registry, found) : new Map<number, string>()
      return {
        events: found.map((one) => {
          const sight = one.opened === undefined ? "none" : sightOf(one.opened.content)
          const entry = showEntry(one, workspace, sight)
          if (!isProven) return entry
          return `${entry.slice(0, -1)},"proof":${showProof(one, vkeys.get(one.epoch.number) ?? "")},"disclosures":${JSON.stringify(disclosuresFor(one.stored, sight))}}`
        }),
        total: hits.total,
        nextCursor: hits.sequences.at(-1) ?? 0,
        hasMore: hits.hasMore,
        verified: found.every(({ integrity }) => integrity !== "broken"),
      }
    },

    async all(workspace, { wanted, storage }, most, nowMs) {
      const bounds = storage === "all" ? {} : boundsOf(storage, await hotFrom(workspace, nowMs))
      const sequences: number[] = []
      for (let before = Number.MAX_SAFE_INTEGER; ;) {
        const hits = await find(workspace.id, { ...wanted, ...bounds }, before, allAtOnce)
        if (hits.total > most) return { sequences: [], total: hits.total }
        sequences.push(...hits.sequences)
        before = hits.sequences.at(-1) ?? 0
        if (!hits.hasMore || before === 0) return { sequences: sequences.toReversed(), total: sequences.length }
      }
    },
  }
}

function boundsOf(storage: "hot" | "archive", hotFrom: number): Pick<Wanted, "firstSequence" | "lastSequence"> {
  return storage === "hot" ? { firstSequence: hotFrom } : { lastSequence: hotFrom - 1 }
}

/** All entries of a page and the records before them, with one question. */
async function findAll(
  store: Pick<Store, "journal" | "index" | "search">,
  workspace: Document<"workspace">,
  sequences: readonly number[],
  nowMs: number,
  withProofs: boolean,
): Promise<readonly Found[]> {
  if (sequences.length === 0) return []
  const needed = [...new Set(sequences.flatMap((sequence) => (sequence === 1 ? [1] : [sequence, sequence - 1])))]
  const epochs = epochsOf(workspace)
  const [read, newest, position] = await Promise.all([
    store.journal.at(workspace.id, needed),
    checkpointFor(store.index, epochs[0]),
    store.search.position(workspace.id),
  ])
  const covering = (epoch: Epoch): Checkpoint | undefined => (epoch.end === undefined ? newest : epoch.checkpoint)
  const known = new Map(needed.map((sequence, place) => [sequence, read[place]]))
  const found = sequences.map((sequence) => {
    const epoch = epochAt(epochs, sequence)
    const stored = known.get(sequence) ?? missing(workspace.id, sequence)
    return findLinked(workspace, epoch, stored, known.get(sequence - 1)?.record, { checkpoint: covering(epoch), position, nowMs })
  })
  return withProofs ? Promise.all(found.map((one) => findIncluded(store, one, covering(one.epoch)))) : found
}

/** What the search knows of and the journal does not have is shown as broken, at its place. */
function missing(workspace: string, sequence: number): Stored {
  const nothing = { receipt: "", idem: undefined, bodySalt: undefined, body: undefined, disclosures: "" }
  return { workspace, sequence, record: new Uint8Array(), ...nothing }
}

/** The key of each epoch of a page: its entries are all held against the same checkpoint. */
async function vkeysOf(registry: Registry, found: readonly Found[]): Promise<ReadonlyMap<number, string>> {
  const epochs = new Map(found.map(({ epoch }) => [epoch.number, epoch]))
  const noteOf = (number: number) => found.find(({ epoch, inclusion }) => epoch.number === number && inclusion)?.inclusion?.checkpoint.note
  const vkeys = await Promise.all([...epochs].map(([number, epoch]) => vkeyOf(registry, epoch, noteOf(number))))
  return new Map([...epochs.keys()].map((number, at) => [number, vkeys[at] ?? ""]))
}

/**
 * The first sequence that is not in the archive yet. Times never go back along a chain, so it is found by halving, and from where it
 * was found last time it is a look at one record.
 */
function createArchiveEnds({ journal }: Pick<Store, "journal">): (workspace: Document<"workspace">, nowMs: number) => Promise<number> {
  const ends = new Map<string, { readonly hotDays: number; readonly hotFrom: number }>()

  return async (workspace, nowMs) => {
    const { hotDays } = workspace.value
    const last = ends.get(workspace.id)
    const isArchived = async (sequence: number): Promise<boolean> => {
      const timeMs = parseRecord(await journal.records(workspace.id, sequence, 1))?.timeMs
      return timeMs !== undefined && timeMs < archivedBefore(workspace, nowMs)
    }
    // With other settings what was archived may be hot again.
    let archived = last?.hotDays === hotDays ? last.hotFrom - 1 : 0
    if (await isArchived(archived + 1)) {
      let hot = archived + 2
      for (let step = 1; await isArchived(hot); step *= 2, hot += step) archived = hot
      while (hot - archived > 1) {
        const middle = Math.floor((archived + hot) / 2)
        if (await isArchived(middle)) archived = middle
        else hot = middle
      }
    }
    ends.set(workspace.id, { hotDays, hotFrom: archived + 1 })
    return archived + 1
  }
}
