// The threads that find: one searches for words, the other answers lists, so that a broad search
// delays neither a list nor a look-up. A search is many short turns, and whose is next is decided
// by whoever asks.

import { strict as assert } from "node:assert"
import { join } from "node:path"
import { threadClock } from "../../clock.ts"
import type { Limits } from "../../limits.ts"
import { answer, givenToThread, type Thread } from "../../runtime/worker-thread.ts"
import { isSearch, type Finder, type Hits, type Turn, type Wanted } from "../search/search.ts"
import { createSegmentSearch, type SegmentSearch, type Turns } from "../search/segment-search.ts"
import { recordedIn } from "../search/unfiled-entries.ts"
import { openForReading } from "./database.ts"
import { journalReads } from "./reads.ts"
import { cachedSegmentReads, segmentReaderOf } from "./sqlite-segments.ts"

export const finderModule = import.meta.filename

export interface FinderOptions {
  readonly folder: string
  readonly limits: Pick<Limits, "searchCacheBytesMax">
}

/** Undefined as `Finder.find` says it; a number: the search goes on under it. */
type Answered = Hits | undefined | number

export type FinderQuestions = {
  find(asked: Asked): Promise<Answered>
  goOn(search: number): Promise<Answered>
  drop(search: number): void
}

type Asked = readonly [workspace: string, wanted: Wanted, before: number, limit: number]

/** `lists` and `searches` are the two threads. */
export function findWith(
  lists: Thread<FinderQuestions>,
  searches: Thread<FinderQuestions>,
): Finder["find"] {
  return async (workspace, wanted, before, limit, turn = atOnce) => {
    const thread = isSearch(wanted) ? searches : lists
    let answered: Answered = await turn(() =>
      thread.ask("find", [workspace, wanted, before, limit]),
    )
    while (typeof answered === "number") {
      const search: number = answered
      try {
        answered = await turn(() => thread.ask("goOn", search))
      } catch (error) {
        await thread.ask("drop", search)
        throw error
      }
    }
    return answered
  }
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

function questionsOf({ find, begin }: SegmentSearch): FinderQuestions {
  const unfinished = new Map<number, Turns<Hits | undefined>>()
  let begun = 0
  const turn = async (search: number, turns: Turns<Hits | undefined>): Promise<Answered> => {
    begin()
    const { done, value } = await turns.next()
    if (done === true) return value
    unfinished.set(search, turns)
    return search
  }
  return {
    find: (asked) => turn(++begun, find(...asked)),
    goOn(search) {
      const turns = unfinished.get(search)
      assert(turns !== undefined, "only what is unfinished goes on")
      // What fails is not asked again.
      unfinished.delete(search)
      return turn(search, turns)
    },
    drop: (search) => void unfinished.delete(search),
  }
}
