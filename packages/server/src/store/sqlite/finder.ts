// The two finder threads: one searches for words, the other answers lists, so that a broad search
// delays no list. A search is many short turns; the thread that asks decides whose turn is next.

import { strict as assert } from "node:assert"
import { join } from "node:path"
import { threadClock } from "../../clock.ts"
import type { Limits } from "../../limits.ts"
import { answer, givenToThread, type Thread } from "../../runtime/worker-thread.ts"
import {
  isSearch,
  type Counted,
  type Counting,
  type Finder,
  type Hits,
  type Turn,
  type Wanted,
} from "../search/search.ts"
import { createSegmentSearch, type SegmentSearch } from "../search/segment-search.ts"
import type { Turns } from "../search/segments.ts"
import { recordedIn } from "../search/unfiled-entries.ts"
import { openForReading } from "./database.ts"
import { journalReads } from "./reads.ts"
import { cachedSegmentReads, segmentReaderOf } from "./sqlite-segments.ts"

export const finderModule = import.meta.filename

export interface FinderOptions {
  readonly folder: string
  readonly limits: Pick<Limits, "searchCacheBytesMax">
}

/** Undefined means what it means in `Finder.find`. A number names a search that has not ended. */
type Answered<T> = T | undefined | number

export type FinderQuestions = {
  find(asked: Asked): Promise<Answered<Hits>>
  count(asked: AskedCounts): Promise<Answered<readonly Counted[]>>
  goOn(search: number): Promise<Answered<Hits | readonly Counted[]>>
  drop(search: number): void
}

type Asked = readonly [workspace: string, wanted: Wanted, before: number, limit: number]
type AskedCounts = readonly [workspace: string, wanted: Wanted, counting: Counting]

/** `lists` and `searches` are the two threads. */
export function findWith(
  lists: Thread<FinderQuestions>,
  searches: Thread<FinderQuestions>,
): Pick<Finder, "find" | "count"> {
  return {
    find(workspace, wanted, before, limit, turn = atOnce) {
      const thread = isSearch(wanted) ? searches : lists
      return inTurns(thread, turn, () => thread.ask("find", [workspace, wanted, before, limit]))
    },
    count: (workspace, wanted, counting, turn = atOnce) =>
      inTurns(searches, turn, () => searches.ask("count", [workspace, wanted, counting])),
  }
}

async function inTurns<T extends Hits | readonly Counted[]>(
  thread: Thread<FinderQuestions>,
  turn: Turn,
  begin: () => Promise<Answered<T>>,
): Promise<T | undefined> {
  let answered = await turn(begin)
  while (typeof answered === "number") {
    const search: number = answered
    try {
      // It goes on as what it began as.
      answered = (await turn(() => thread.ask("goOn", search))) as Answered<T>
    } catch (error) {
      await thread.ask("drop", search)
      throw error
    }
  }
  return answered
}

const atOnce: Turn = (step) => step()

const given = givenToThread<FinderOptions>(finderModule)
if (given !== undefined) {
  const search = openForReading(join(given.folder, "search.db"))
  const journal = openForReading(join(given.folder, "journal.db"))
  const reads = journalReads(journal)
  const finding = createSegmentSearch({
    recorded: recordedIn({
      head: async (workspace) => reads.head(workspace),
      after: async (...asked) => reads.after(...asked),
    }),
    segments: segmentReaderOf(cachedSegmentReads(search)),
    clock: threadClock,
    cacheBytes: given.limits.searchCacheBytesMax,
  })
  answer<FinderQuestions>(questionsOf(finding), () => {
    search.close()
    journal.close()
  })
}

function questionsOf({ find, count, begin }: SegmentSearch): FinderQuestions {
  const unfinished = new Map<number, Turns<Hits | readonly Counted[] | undefined>>()
  let begun = 0
  const turn = async <T extends Hits | readonly Counted[]>(
    search: number,
    turns: Turns<T | undefined>,
  ): Promise<Answered<T>> => {
    begin()
    const { done, value } = await turns.next()
    if (done === true) return value
    unfinished.set(search, turns)
    return search
  }
  return {
    find: (asked) => turn(++begun, find(...asked)),
    count: (asked) => turn(++begun, count(...asked)),
    goOn(search) {
      const turns = unfinished.get(search)
      assert(turns !== undefined, "only what is unfinished goes on")
      // A search that fails has ended.
      unfinished.delete(search)
      return turn(search, turns)
    },
    drop: (search) => void unfinished.delete(search),
  }
}
