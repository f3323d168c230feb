// The reference driver: the simplest code that does what every driver must do. It keeps everything
// in memory, for tests.

import { assert, concat, equalBytes, eventHash, hashBytes, parseRecord } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import type { Questions, Thread } from "../runtime/worker-thread.ts"
import type { ArchiveStorage } from "./archive/archive-storage.ts"
import { createArchivedBodies, withArchived } from "./archive/archived-bodies.ts"
import { conflictIn } from "./conflict.ts"
import {
  listedValue,
  type DocumentKind,
  type Change,
  type Document,
  type Listed,
  type ListPlace,
} from "./documents.ts"
import { createGrowth, ownLeases } from "./growth.ts"
import { linkRows } from "./linked-rows.ts"
import { createMemoryContent } from "./memory-content.ts"
import { createMemorySegments } from "./search/memory-segments.ts"
import { readerQuestions, findWith } from "./search/finder-thread.ts"
import { findableUpTo } from "./search/unfiled-entries.ts"
import { readHeld } from "./held-entries.ts"
import type { Audit, CredentialUse, Checkpoint, Tree } from "./index-state.ts"
import type { FilingStore, Store, WatchedStore } from "./store.ts"
import { upToBytes, type Group, type Head, type Outcome, type Stored } from "./entries.ts"

export interface MemoryStore {
  readonly served: Store
  readonly watched: WatchedStore
  readonly filing: FilingStore
}

interface Chain {
  readonly entries: Stored[]
  readonly byKey: Map<string, number>
  readonly byReceipt: Map<string, number>
}

/** The derived data of an epoch. */
interface Derived {
  tree: Tree | undefined
  checkpoint: Checkpoint | undefined
  readonly tiles: Map<string, Uint8Array>
}

/** `archive` has the bodies that were dropped. */
export function openMemory(archive?: Pick<ArchiveStorage, "get">): MemoryStore {
  const chains = new Map<string, Chain>()
  const derived = new Map<string, Derived>()
  const documents = new Map<string, Document>()
  const audits = new Map<string, Audit>()
  const uses = new Map<string, CredentialUse>()

  const chainOf = (workspace: string): Chain =>
    put(chains, workspace, () => ({ entries: [], byKey: new Map(), byReceipt: new Map() }))
  const content = createMemoryContent((workspace) => chainOf(workspace).entries)
  const entryOf = (workspace: string) => (sequence: number) => {
    const entry = chainOf(workspace).entries[sequence - 1]
    return entry && content.whole(entry)
  }
  const entriesAfter = (workspace: string, sequence: number, limit: number) =>
    chainOf(workspace)
      .entries.slice(sequence, sequence + limit)
      .map((entry) => content.whole(entry))
  const derivedOf = (workspace: string, epoch: number): Derived =>
    put(derived, `${workspace}/${epoch}`, () => ({
      tree: undefined,
      checkpoint: undefined,
      tiles: new Map(),
    }))

  const kept: Store["journal"] = {
    head: async (workspace) => headOf(chainOf(workspace)),
    at: async (workspace, sequences, bytesMax = Infinity) => [
      ...upToBytes(sequences.map(entryOf(workspace)), bytesMax),
    ],
    recordsAt: async (workspace, sequences) =>
      sequences.map((sequence) => entryOf(workspace)(sequence)?.record),
    after: async (...asked) => entriesAfter(...asked),
    async linked(...asked) {
      const entries = entriesAfter(...asked)
      return entries.length === 0 ? [] : [linkRows(entries)]
    },
    records: async (workspace, sequence, count) =>
      recordsOf(chainOf(workspace).entries.slice(sequence - 1, sequence - 1 + count)),
    async byReceipt(workspace, receipt) {
      const sequence = chainOf(workspace).byReceipt.get(receipt)
      return sequence === undefined ? undefined : entryOf(workspace)(sequence)
    },
    byKey: async (workspace, idem) => chainOf(workspace).byKey.get(idem),
    isEmpty: async () => chains.values().every(({ entries }) => entries.length === 0),
    append: async (group) => append(group),
  }

  function append({ workspace, from, entries, changes = [] }: Group): Outcome {
    const chain = chainOf(workspace)
    const keys = entries.flatMap(({ idem }, place) => {
      const sequence = idem === undefined ? undefined : chain.byKey.get(idem)
      return sequence === undefined ? [] : [{ place, sequence }]
    })
    if (keys.length > 0) return { kind: "used", keys }
    const conflict = conflictIn(
      changes,
      ({ kind, id }) => documents.get(keyOf(kind, workspace, id))?.version ?? 0,
    )
    if (conflict >= 0) return { kind: "conflict", place: conflict }
    const head = headOf(chain)
    if (
      head === undefined
        ? from.sequence !== 0
        : head.sequence !== from.sequence || !equalBytes(head.hash, from.hash)
    )
      return { kind: "moved" }
    for (const entry of entries) {
      const sequence = chain.entries.push({
        ...entry,
        workspace,
        sequence: chain.entries.length + 1,
      })
      chain.byReceipt.set(entry.receipt, sequence)
      if (entry.idem !== undefined) chain.byKey.set(entry.idem, sequence)
    }
    for (const change of changes) apply(workspace, change, headOf(chain)?.timeMs ?? 0)
    growth.report(workspace)
    return { kind: "done" }
  }

  function apply(workspace: string, { kind, id, value }: Change, timeMs: number): void {
    const key = keyOf(kind, workspace, id)
    const before = documents.get(key)
    if (value === null) documents.delete(key)
    else {
      const others = documents
        .values()
        .filter((one) => one.kind === kind && one.workspace === workspace)
      const created =
        before?.created ?? others.reduce((latest, one) => Math.max(latest, one.created + 1), timeMs)
      documents.set(key, {
        kind,
        workspace,
        id,
        value,
        version: (before?.version ?? 0) + 1,
        created,
      })
    }
  }

  const registry = registryOf(documents)
  const journal =
    archive === undefined ? kept : withArchived(kept, createArchivedBodies(archive, registry))
  const growth = createGrowth(() => registry)
  const index: WatchedStore["index"] = {
    tree: async (workspace, epoch) => derivedOf(workspace, epoch).tree,
    tiles: async (workspace, epoch, tiles) =>
      tiles.map(
        ({ level, tile }) =>
          derivedOf(workspace, epoch).tiles.get(`${level}/${tile}`) ?? new Uint8Array(),
      ),
    checkpoint: async (workspace, epoch) => derivedOf(workspace, epoch).checkpoint,
    async growTree(workspace, epoch, fromSize, tree, growth) {
      const place = derivedOf(workspace, epoch)
      if ((place.tree?.size ?? 0) !== fromSize) return false
      const tiles = growth.map(({ level, tile, offset, hashes }): [string, Uint8Array] => {
        const before =
          place.tiles.get(`${level}/${tile}`)?.subarray(0, offset * hashBytes) ?? new Uint8Array()
        assert(before.length === offset * hashBytes, "a tile is filled without a gap")
        return [`${level}/${tile}`, concat(before, hashes)]
      })
      place.tree = tree
      for (const [key, hashes] of tiles) place.tiles.set(key, hashes)
      return true
    },
    async putCheckpoint(workspace, epoch, fromSize, checkpoint) {
      const place = derivedOf(workspace, epoch)
      if ((place.checkpoint?.size ?? 0) !== fromSize) return false
      place.checkpoint = checkpoint
      return true
    },
    audit: async (workspace) => audits.get(workspace),
    putAudit: async (workspace, audit) =>
      (audits.get(workspace)?.version ?? 0) === audit.version - 1 &&
      audits.set(workspace, audit).has(workspace),
    uses: async (ids) => ids.flatMap((id) => uses.get(id) ?? []),
    async putUses(used) {
      for (const use of used)
        if (use.atMs > (uses.get(use.id)?.atMs ?? -Infinity)) uses.set(use.id, use)
    },
  }

  const segments = createMemorySegments()
  const finding = readerQuestions({ journal, index, segments }, { elapsed: () => 0 }, 2 ** 24)
  const { leaves, fewLeaves } = finding
  const here = askHere(finding)
  return {
    served: {
      journal,
      index,
      leaves,
      held: (...asked) => readHeld({ journal, index, fewLeaves }, ...asked),
      search: {
        position: async (workspace) =>
          findableUpTo(await segments.list(workspace), chainOf(workspace).entries.length),
        ...findWith(here, here),
      },
      registry,
      grown: growth.grown,
      readOnly: undefined,
      ready: async () => undefined,
      databaseBytes: async () => undefined,
      close: nothing,
    },
    watched: { journal, leases: ownLeases, index, registry, close: nothing },
    filing: {
      journal,
      leases: ownLeases,
      registry,
      index,
      segments,
      content: content.keeper,
      close: nothing,
    },
  }
}

function registryOf(documents: ReadonlyMap<string, Document>): Store["registry"] {
  return {
    staleMsMax: 0,
    // A document's kind is the one that was asked for, so its value has that kind's type.
    get: async (kind, workspace, id) => documents.get(keyOf(kind, workspace, id)) as never,
    workspaceOf: async (kind, id) =>
      documents.values().find((one) => one.kind === kind && one.id === id)?.workspace,
    list: async (kind, workspace, before, limit) =>
      [...documents.values()]
        .filter(
          (one) => one.kind === kind && (workspace === undefined || one.workspace === workspace),
        )
        .filter((one) => before === undefined || isBehind(one, before))
        .toSorted((a, b) => (isBehind(a, b) ? 1 : -1))
        .slice(0, limit)
        .map(listed) as never,
    count: async (kind, workspace) =>
      documents
        .values()
        .reduce((sum, one) => sum + (one.kind === kind && one.workspace === workspace ? 1 : 0), 0),
  }
}

/** There is nothing to wait for, and nothing to close. */
const nothing = async (): Promise<void> => {}

function recordsOf(entries: readonly Stored[]): Uint8Array {
  return concat(...entries.map(({ record }) => record))
}

function headOf({ entries }: Chain): Head | undefined {
  const last = entries.at(-1)
  if (last === undefined) return undefined
  return {
    sequence: last.sequence,
    hash: eventHash(last.record, sha256),
    timeMs: parseRecord(last.record)?.timeMs ?? 0,
  }
}

function keyOf(kind: DocumentKind, workspace: string, id: string): string {
  return `${kind}/${workspace}/${id}`
}

function isBehind(one: ListPlace, other: ListPlace): boolean {
  return one.created < other.created || (one.created === other.created && one.id < other.id)
}

function put<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

function listed({ value, ...document }: Document): Listed {
  return { ...document, value: listedValue(value) }
}

/** Answers like a thread. */
function askHere<Q extends Questions>(questions: Q): Thread<Q> {
  return {
    // An answer is what its question returns.
    ask: async (question, ...given) => (await questions[question]?.(...given)) as never,
    close: nothing,
  }
}
