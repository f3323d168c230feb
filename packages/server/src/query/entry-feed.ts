// Followers of a workspace sleep until it has grown. What they then ask for alike is looked for
// once, whatever their number.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Pace } from "../runtime/pace.ts"
import type { Document, Store } from "../store/store.ts"
import type { Queries } from "./entry-queries.ts"
import type { FeedPage, FeedRequest } from "./feed-page.ts"

export interface EntryFeed {
  /** What there is now: an answer to somebody else may be of a moment before. */
  look(workspace: string, request: FeedRequest): Promise<FeedPage>
  /**
   * Yields a page after another, at first what there is, then whenever the workspace has grown by a
   * match; an empty one now and then, so that a follower looks at its own time. Ends when the
   * signal is aborted, and at a stop. Throws `overloaded` at its beginning if there are too many
   * followers.
   */
  follow(
    workspace: string,
    request: FeedRequest,
    signal: AbortSignal,
  ): AsyncGenerator<FeedPage, void, undefined>
  /** Ends all that follow. */
  close(): void
}

export interface FeedParts extends Pick<Store, "grown"> {
  readonly queries: Pick<Queries, "after">
  readonly workspaceOf: (id: string) => Promise<Document<"workspace">>
  readonly clock: Clock
  readonly pace: Pace
  readonly limits: Pick<
    Limits,
    "followersMax" | "followersOfWorkspaceMax" | "feedEveryMs" | "feedBeatMs"
  >
  /** No follower hears of new entries any more. */
  readonly onDeath: (cause: Error) => void
}

interface Follower {
  /** There may be something that it has not looked for. */
  isBehind: boolean
  /** It was not heard of for a while. */
  isDue: boolean
  wake: () => void
}

export function createFeed(parts: FeedParts): EntryFeed {
  const { queries, workspaceOf, clock, pace } = parts
  const stop = new AbortController()
  const crowd = createCrowd(parts, stop.signal)
  const looks = new Map<string, Promise<FeedPage>>()

  const look: EntryFeed["look"] = async (workspace, request) =>
    queries.after(await workspaceOf(workspace), request, clock.now())

  /**
   * Followers that wake together ask together, and share the answer. An answer that was begun before
   * something grew is not for those whom that has woken.
   */
  function shared(of: string, workspace: string, request: FeedRequest): Promise<FeedPage> {
    const key = `${crowd.rounds()} ${request.after} ${of}`
    const under = looks.get(key)
    if (under !== undefined) return under
    const begun = look(workspace, request).finally(() => looks.delete(key))
    looks.set(key, begun)
    return begun
  }

  return {
    look,
    async *follow(workspace, request, signal) {
      const name = nameOf(workspace, request)
      const follower = crowd.enter(workspace)
      const wake = (): void => follower.wake()
      signal.addEventListener("abort", wake)
      try {
        let { after } = request
        while (!signal.aborted && !stop.signal.aborted) {
          if (follower.isBehind) {
            follower.isBehind = false
            const page = await laterIfBusy(shared(name, workspace, { ...request, after }))
            if (pace.isUp()) await pace.next()
            after = page?.nextAfter ?? after
            follower.isBehind ||= page?.hasMore ?? true
            if (page !== undefined && page.events.length > 0) yield page
            if (page === undefined && !follower.isDue) await asleep(follower)
          } else if (!follower.isDue) await asleep(follower)
          if (!follower.isDue) continue
          follower.isDue = false
          yield { events: [], sequences: [], nextAfter: after, hasMore: false }
        }
      } finally {
        signal.removeEventListener("abort", wake)
        crowd.leave(workspace, follower)
      }
    },
    close() {
      stop.abort()
      crowd.wakeAll()
    },
  }
}

function asleep(follower: Follower): Promise<void> {
  return new Promise((resolve) => (follower.wake = resolve))
}

/** Of what is asked for, wherever it begins. */
function nameOf(workspace: string, request: FeedRequest): string {
  return JSON.stringify([workspace, { ...request, after: 0 }])
}

/** A follower has time: it looks again later, and many do not come anew at once. */
async function laterIfBusy(looked: Promise<FeedPage>): Promise<FeedPage | undefined> {
  try {
    return await looked
  } catch (error) {
    if (
      error instanceof LedgerError &&
      (error.code === "overloaded" || error.code === "ledger_unavailable")
    )
      return undefined
    throw error
  }
}

/** Everybody who follows, by workspace. One loop hears of growth and one keeps the time, for all. */
function createCrowd({ grown, clock, limits, onDeath }: FeedParts, stop: AbortSignal) {
  const crowd = new Map<string, Set<Follower>>()
  let inAll = 0
  let isBeating = false
  let isListening = false
  /** How often something has grown. */
  let rounds = 0

  const wakeAll = (): void => {
    for (const followers of crowd.values())
      for (const follower of followers) {
        follower.isDue = true
        follower.wake()
      }
  }
  const beat = async (): Promise<void> => {
    isBeating = true
    while (inAll > 0) {
      await clock.sleep(limits.feedBeatMs)
      wakeAll()
    }
    isBeating = false
  }
  const listen = async (): Promise<void> => {
    isListening = true
    for await (const workspaces of grown(stop)) {
      rounds += 1
      for (const workspace of workspaces)
        for (const follower of crowd.get(workspace) ?? []) {
          follower.isBehind = true
          follower.wake()
        }
      await clock.sleep(limits.feedEveryMs)
    }
  }

  return {
    rounds: () => rounds,
    wakeAll,
    enter(workspace: string): Follower {
      const followers = crowd.get(workspace) ?? new Set()
      if (inAll >= limits.followersMax || followers.size >= limits.followersOfWorkspaceMax)
        throw new LedgerError("overloaded", "there are too many followers; ask again in a moment")
      const follower: Follower = { isBehind: true, isDue: true, wake: () => {} }
      crowd.set(workspace, followers.add(follower))
      inAll += 1
      if (!isListening) listen().catch(onDeath)
      if (!isBeating) void beat()
      return follower
    },
    leave(workspace: string, follower: Follower): void {
      const followers = crowd.get(workspace)
      if (followers?.delete(follower) !== true) return
      inAll -= 1
      if (followers.size === 0) crowd.delete(workspace)
    },
  }
}
