// Schedules searches for requests. Workspaces take turns. A search ends when its client
// disconnects, and is refused when it takes too long. Lists have a queue of their own, so they
// never wait for a search.

import { createFairQueue } from "../runtime/fair-queue.ts"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import {
  isSearch,
  type AlsoRead,
  type Counted,
  type Counting,
  type Finder,
  type Hits,
  type Turn,
  type Wanted,
} from "../store/search/search.ts"

export type Find = (
  workspace: string,
  wanted: Wanted,
  before: number,
  limit: number,
  signal: AbortSignal | undefined,
  /** What to read with the search, if there is room for it when the search ends. */
  also?: () => AlsoRead | undefined,
) => Promise<Hits>

/** The answers of scheduled searches. */
export interface Finding {
  readonly find: Find
  readonly count: (
    workspace: string,
    wanted: Wanted,
    counting: Counting,
    signal: AbortSignal | undefined,
  ) => Promise<readonly Counted[]>
}

export interface FindingParts {
  readonly search: Finder
  readonly clock: Clock
  readonly limits: Pick<Limits, "searchTimeoutMs" | "searchesWaitingMax">
  /**
   * Resolves when the search index covers all entries of a workspace. Rejects with a LedgerError if
   * that takes too long.
   */
  readonly file: (workspace: string) => Promise<void>
}

/** Lists sent to their thread at once, so that it always has the next one ready. */
const listsAtOnce = 4

export function createFinding({ search, clock, limits, file }: FindingParts): Finding {
  const { searchTimeoutMs, searchesWaitingMax: waitingMax } = limits
  const queueOf = (of: string, atOnceMax: number) =>
    createFairQueue(clock, {
      of,
      atOnceMax,
      perWorkspaceMax: atOnceMax,
      waitingMax,
      waitMs: searchTimeoutMs,
    })
  const lists = queueOf("lists", listsAtOnce)
  // One at a time: they share one thread.
  const searches = queueOf("searches", 1)

  const inTurns = <T>(
    workspace: string,
    signal: AbortSignal | undefined,
    work: (turn: Turn) => Promise<T>,
  ): Promise<T> =>
    withinTime(clock, searchTimeoutMs, signal, (ended) =>
      work((step) => searches.run(workspace, ended, step)),
    )

  /** Retries when the missing segments have been made. */
  async function filed<T>(workspace: string, ask: () => Promise<T | undefined>): Promise<T> {
    const answer = await ask()
    if (answer !== undefined) return answer
    await file(workspace)
    const again = await ask()
    if (again === undefined)
      throw new LedgerError(
        "ledger_unavailable",
        "new entries arrive faster than they can be indexed; ask again in a moment",
      )
    return again
  }

  return {
    find: (workspace, wanted, before, limit, signal, also) =>
      filed(workspace, () => {
        const findIn = (turn: Turn) =>
          search.find(workspace, wanted, before, limit, (step) => turn(() => step(also?.())))
        return isSearch(wanted)
          ? inTurns(workspace, signal, findIn)
          : lists.run(workspace, signal, () => findIn((step) => step()))
      }),
    // It reads every match, so it waits in the queue of searches, not in that of lists.
    count: (workspace, wanted, counting, signal) =>
      filed(workspace, () =>
        inTurns(workspace, signal, (turn) => search.count(workspace, wanted, counting, turn)),
      ),
  }
}

/**
 * Resolves in time or rejects with `overloaded`. On a timeout or a disconnect, the signal tells the
 * work to stop.
 */
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
  void clock
    .sleep(timeoutMs)
    .then(() =>
      end(new LedgerError("overloaded", `the search takes more than ${timeoutMs} ms; ${advice}`)),
    )
  try {
    return await Promise.race([work(ended.signal), cut])
  } finally {
    departure?.removeEventListener("abort", leave)
  }
}

const advice = "ask again in a moment, or search for fewer entries"
