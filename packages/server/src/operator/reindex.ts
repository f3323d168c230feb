// Rebuilds everything derived from the journal: the index with its trees, and the search. Nothing
// is signed here. The next start signs, after it has compared the trees with what was signed
// before.

import { AssertionError } from "@tallystick/proof"
import { systemClock } from "../clock.ts"
import { detailOf } from "../error.ts"
import { createCheckpointer } from "../followers/checkpointer.ts"
import { startFiling } from "../followers/filing.ts"
import { followOnce } from "../followers/follow.ts"
import type { Limits } from "../limits.ts"
import { every } from "../store/all-documents.ts"
import { closing } from "../runtime/closing.ts"
import type { DerivedStore } from "../store/offline.ts"
import { openAnew, openStopped } from "../store/open-offline.ts"
import type { StorePlace } from "../store/open.ts"
import type { WatchedStore } from "../store/store.ts"

export interface Progress {
  readonly workspace: string
  /** Indexed entries, of `entries` in all. */
  readonly done: number
  readonly entries: number
}

/**
 * Returns a sentence for each workspace with a broken chain. Its tree ends before the break. `then`
 * is called while nobody else can use the data, unless there is such a sentence.
 */
export async function reindex(
  place: StorePlace,
  limits: Limits,
  progress: (progress: Progress) => void,
  then: (watched: WatchedStore) => Promise<void> = async () => {},
): Promise<readonly string[]> {
  await requireArchive(place)
  await using store = closing(await openAnew(place))
  const troubles: string[] = []
  for await (const { id: workspace } of every(store.watched.registry, "workspace", undefined))
    troubles.push(...(await reindexOne(store, workspace, limits, progress)))
  if (troubles.length === 0) await then(store.watched)
  return troubles
}

/** Nothing is removed while what it is made from cannot be read. */
async function requireArchive(place: StorePlace): Promise<void> {
  await using store = closing(await openStopped(place))
  for await (const { id } of every(store.registry, "workspace", undefined)) {
    const [segment] = await store.registry.list("archive-segment", id, undefined, 1)
    if (segment !== undefined) await store.journal.after(id, segment.value.first - 1, 1)
  }
}

async function reindexOne(
  store: DerivedStore,
  workspace: string,
  limits: Limits,
  progress: (progress: Progress) => void,
): Promise<readonly string[]> {
  const { journal } = store.filing
  const entries = (await journal.head(workspace))?.sequence ?? 0
  const troubles: string[] = []
  const tree = treeOf(store.watched)
  try {
    while (!(await followOnce(journal, tree, workspace, limits)).caughtUp) continue
  } catch (error) {
    troubles.push(`${workspace}: ${detailOf(error)}`)
  }
  const filing = startFiling({
    store: store.filing,
    clock: systemClock,
    limits,
    report(step) {
      if (step.kind === "filed")
        for (const [, done] of step.positions)
          if (done < entries) progress({ workspace, done, entries })
    },
  })
  await filing
    .catchUp(workspace)
    .then(() => progress({ workspace, done: entries, entries }))
    .catch((error: unknown) => troubles.push(`${workspace}: ${String(error)}`))
  await filing.close()
  return troubles
}

/** Only grows the tree. The next signer compares it with what was signed before. */
function treeOf({ journal, index, registry }: WatchedStore) {
  const never = () => {
    throw new AssertionError("a reindexed tree is not signed")
  }
  const heads = { get: async () => undefined, advance: never, close: () => {} }
  return createCheckpointer({
    journal,
    index,
    registry,
    heads,
    signersOf: never,
    isGenuine: never,
    rootAt: never,
    clock: systemClock,
  })
}
