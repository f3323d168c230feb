// Finding, for requests: searches take turns between workspaces, end when their client leaves, and are answered in time or refused. Lists
// have a line of their own, so that they never wait for a search.

import { createAdmission } from "../runtime/fair-queue.ts"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { isSearch, type Finder, type Hits, type Turn, type Wanted } from "../store/search.ts"

export type Find = (workspace: string, wanted: Wanted, before: number, limit: number, signal: AbortSignal | undefined) => Promise<Hits>

export interface FindingParts {
  readonly search: Finder
  readonly clock: Clock
  readonly limits: Pick<Limits, "searchTimeoutMs" | "searchesWaitingMax">
  /** Has everything filed that was recorded in a workspace; rejects with a LedgerError if that takes too long. */
  readonly file: (workspace: string) => Promise<void>
}

/** Lists that are asked of their thread at once: the next is there when it is done with one. */
const listsAtOnce = 4

export function createFind({ search, clock, limits, file }: FindingParts): Find {
  const { searchTimeoutMs, searchesWaitingMax: waitingMax } = limits
  const admissionOf = (of: string, atOnceMax: number) =>
    createAdmission(clock, { of, atOnceMax, perWorkspaceMax: atOnceMax, waitingMax, waitMs: searchTimeoutMs })
  const lists = admissionOf("lists", listsAtOnce)
  // There is one thread for them: who is given a turn has it.
  const searches = admissionOf("searches", 1)

  const findOnce = (...[workspace, wanted, before, limit, signal]: Parameters<Find>): Promise<Hits | undefined> => {
    if (!isSearch(wanted)) return lists.run(workspace, signal, () => search.find(workspace, wanted, before, limit))
    return withinTime(clock, searchTimeoutMs, signal, (ended) => {
      const turn: Turn = (step) => searches.run(workspace, ended, step)
      return search.find(workspace, wanted, before, limit, turn)
    })
  }

  return async (...asked) => {
    const hits = await findOnce(...asked)
    if (hits !== undefined) return hits
    const [workspace] = asked
    await file(workspace)
    const again = await findOnce(...asked)
    if (again === undefined)
      throw new LedgerError("ledger_unavailable", "more is being recorded than can be found in time; ask again in a moment")
    return again
  }
}

/** Answers in time, or rejects with `overloaded`; then, and when the client leaves, the work is told by its signal that it need not go on. */
async function withinTime<T>(
  clock: Clock,
  timeoutMs: number,
  departure: AbortSignal | undefined,
  work: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  departure?.throwIfAborted()
  const ended = new AbortController()
  const { promise: cut, reject } = Promise.withResolvers<never>()
  const end = (reason: unknown): void => {
    ended.abort(reason)
    reject(reason)
  }
  const leave = (): void => end(departure?.reason)
  departure?.addEventListener("abort", leave)
  void clock.sleep(timeoutMs).then(() => end(new LedgerError("overloaded", `the search takes more than ${timeoutMs} ms; ${advice}`)))
  try {
    return await Promise.race([work(ended.signal), cut])
  } finally {
    departure?.removeEventListener("abort", leave)
  }
}

const advice = "ask again in a moment, or for what fewer entries have"
