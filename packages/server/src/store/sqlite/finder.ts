// The threads that find: one searches for words, the other answers lists, so that a broad search
// delays neither a list nor a look-up. Nothing can interrupt a statement of SQLite, so a search is
// many short ones, and whose turn is next is decided by whoever asks.

import { strict as assert } from "node:assert"
import { join } from "node:path"
import type { Limits } from "../../limits.ts"
import { answer, givenToThread, type Thread } from "../../runtime/worker-thread.ts"
import { isSearch, type Finder, type Hits, type Turn, type Wanted } from "../search/search.ts"
import { createUnfiled, joined } from "../search/unfiled-entries.ts"
import { openForReading } from "./database.ts"
import { journalReads } from "./reads.ts"
import { searchReads, type Steps } from "./search-reads.ts"

export const finderModule = import.meta.filename

export interface FinderOptions {
  readonly folder: string
  readonly limits: Pick<Limits, "searchListBytesMax">
}

/** Undefined as `Finder.find` says it; a number: the search goes on under it. */
type Answered = Hits | undefined | number

export type FinderQuestions = {
  find(asked: Asked): Answered
  goOn(search: number): Answered
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
  const reads = searchReads(search, given.limits.searchListBytesMax)
  const recorded = journalReads(journal)
  const unfiled = createUnfiled({
    last: (workspace) => recorded.head(workspace)?.sequence ?? 0,
    after: (...asked) => recorded.after(...asked),
  })
  function* find(...[workspace, wanted, before, limit]: Asked): Steps<Hits | undefined> {
    // In this order: what is filed in between is in neither or in the second, and so counted once.
    const { position, hits } = yield* reads.findFiled(workspace, wanted, before, limit)
    const fresh = unfiled(workspace, position, wanted)
    return fresh === undefined ? undefined : joined(hits, fresh, before, limit)
  }
  answer<FinderQuestions>(questionsOf(find), () => {
    search.close()
    journal.close()
  })
}

function questionsOf(find: (...asked: Asked) => Steps<Hits | undefined>): FinderQuestions {
  const unfinished = new Map<number, Steps<Hits | undefined>>()
  let begun = 0
  const step = (search: number, steps: Steps<Hits | undefined>): Answered => {
    const { done, value } = steps.next()
    if (done === true) return value
    unfinished.set(search, steps)
    return search
  }
  return {
    find: (asked) => step(++begun, find(...asked)),
    goOn(search) {
      const steps = unfinished.get(search)
      assert(steps !== undefined, "only what is unfinished goes on")
      // What fails is not asked again.
      unfinished.delete(search)
      return step(search, steps)
    },
    drop: (search) => void unfinished.delete(search),
  }
}
