// Searches in a reader's thread, and what else it reads with processor time: leaves of signed trees,
// because a tile that is read for the first time takes hundreds of hashes. A search is many short
// turns; the thread that asks decides whose turn is next.

import { assert } from "@tallystick/proof"
import { receivedHeld, sentHeld, withHeld, type HeldStore, type SentHeld } from "../held-entries.ts"
import { createLeafReader, type LeafReader } from "../leaf-reader.ts"
import type { IndexReader, JournalReader } from "../store.ts"
import {
  isSearch,
  type AlsoRead,
  type Counted,
  type Finder,
  type Hits,
  type Turn,
} from "./search.ts"
import { createSegmentSearch, type SegmentSearch } from "./segment-search.ts"
import type { SegmentReader, Turns } from "./segments.ts"
import { recordedIn } from "./unfiled-entries.ts"
import type { Clock } from "../../clock.ts"
import type { Thread } from "../../runtime/worker-thread.ts"

type Found = Hits | readonly Counted[]
/** Hits as they are sent. */
type SentHits = Omit<Hits, "held"> & { readonly held?: SentHeld }
/** Undefined means what it means in `Finder.find`. A number names a search that has not ended. */
type Answered = SentHits | readonly Counted[] | undefined | number
type Also = AlsoRead | undefined

export type FinderQuestions = {
  find(also: Also, ...asked: Parameters<SegmentSearch["find"]>): Promise<Answered>
  countMatches(...asked: Parameters<SegmentSearch["count"]>): Promise<Answered>
  goOn(also: Also, search: number): Promise<Answered>
  drop(search: number): void
}

/** `lists` and `searches` are two threads, so that a broad search delays no list. */
export function findWith(
  lists: Thread<FinderQuestions>,
  searches: Thread<FinderQuestions>,
): Pick<Finder, "find" | "count"> {
  return {
    find(workspace, wanted, before, limit, turn = atOnce) {
      const thread = isSearch(wanted) ? searches : lists
      const begin = (also: Also) => thread.ask("find", also, workspace, wanted, before, limit)
      return inTurns<Hits>(thread, turn, begin)
    },
    count(...[workspace, wanted, counting, turn = atOnce]) {
      const begin = () => searches.ask("countMatches", workspace, wanted, counting)
      return inTurns<readonly Counted[]>(searches, turn, begin)
    },
  }
}

async function inTurns<T extends Found>(
  thread: Thread<FinderQuestions>,
  turn: Turn,
  begin: (also: Also) => Promise<Answered>,
): Promise<T | undefined> {
  let answered = await turn(begin)
  while (typeof answered === "number") {
    const search: number = answered
    try {
      answered = await turn((also) => thread.ask("goOn", also, search))
    } catch (error) {
      await thread.ask("drop", search)
      throw error
    }
  }
  const found =
    answered !== undefined && "sequences" in answered && answered.held !== undefined
      ? { ...answered, held: receivedHeld(answered.held) }
      : answered
  // It ends as what it began as.
  return found as T | undefined
}

const atOnce: Turn = (step) => step()

export interface FinderStore {
  readonly journal: JournalReader
  readonly index: Pick<IndexReader, "checkpoint" | "tiles">
  readonly segments: SegmentReader
}

/** The thread's side. */
export function readerQuestions(
  { journal, index, segments }: FinderStore,
  clock: Pick<Clock, "elapsed">,
  cacheBytes: number,
): FinderQuestions & LeafReader {
  const leaves = createLeafReader({ journal, index })
  const recorded = recordedIn(journal)
  const search = createSegmentSearch({ recorded, segments, clock, cacheBytes })
  return { ...leaves, ...finderQuestions(search, { journal, index, ...leaves }) }
}

export function finderQuestions(
  { find, count, begin }: SegmentSearch,
  store: HeldStore,
): FinderQuestions {
  const unfinished = new Map<number, Turns<Found | undefined>>()
  let begun = 0
  const turn = async (
    search: number,
    turns: Turns<Found | undefined>,
    also?: Also,
  ): Promise<Answered> => {
    begin()
    const { done, value } = await turns.next()
    if (done !== true) {
      unfinished.set(search, turns)
      return search
    }
    if (value === undefined || !("sequences" in value)) return value
    const { held, ...hits } = await withHeld(store, value, also)
    return held === undefined || also === undefined
      ? hits
      : { ...hits, held: sentHeld(also.log, held) }
  }
  return {
    find: (also, ...asked) => turn(++begun, find(...asked), also),
    countMatches: (...asked) => turn(++begun, count(...asked)),
    async goOn(also, search) {
      const turns = unfinished.get(search)
      assert(turns !== undefined, "only an unfinished search continues")
      // A search that fails has ended.
      unfinished.delete(search)
      return turn(search, turns, also)
    },
    drop(search) {
      // It ends now, where it has paused, as one that fails.
      void unfinished.get(search)?.return(undefined)
      unfinished.delete(search)
    },
  }
}
