// Feeds of new entries. A follower of a workspace sleeps until the workspace has grown. Followers
// that ask the same question share one search.

import type { Clock } from "../clock.ts"
import { LedgerError, type ErrorCode } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Pace } from "../runtime/pace.ts"
import type { Workspace } from "../store/documents.ts"
import type { Store } from "../store/store.ts"
import type { Queries } from "./entry-queries.ts"
import type { FeedPage, FeedRequest } from "./feed-page.ts"

export interface EntryFeed {
  /** The present matches. It never shares an older search of another follower. */
  look(workspace: string, request: FeedRequest): Promise<FeedPage>
  /**
   * Yields pages: first the present matches, then new ones as the workspace grows, and now and then
   * an empty page, so that the caller can check its time limits. Ends when the signal is aborted,
   * at a stop, and when another workspace gets its place. Throws `overloaded` at its beginning if
   * there are too many followers.
   */
  follow(
    workspace: string,
    request: FeedRequest,
    signal: AbortSignal,
  ): AsyncGenerator<FeedPage, void, undefined>
  /** Ends all followers. */
  close(): void
}

export interface FeedParts extends Pick<Store, "grown"> {
  readonly queries: Pick<Queries, "after">
  readonly workspaceOf: (id: string) => Promise<Workspace>
  readonly clock: Clock
  readonly pace: Pace
  readonly limits: Pick<
    Limits,
    "followersMax" | "followersOfWorkspaceMax" | "feedEveryMs" | "feedBeatMs"
  >
  /** Called if followers can no longer learn of new entries. */
  readonly onDeath: (cause: Error) => void
}

interface Follower {
  /** There may be new entries that it has not searched. */
  isBehind: boolean
  /** An empty page is due. */
  isDue: boolean
  /** Another workspace has got its place. */
  isOver: boolean
  wake: () => void
}

export function createFeed(parts: FeedParts): EntryFeed {
  const { queries, workspaceOf } = parts
  const stop = new AbortController()
  const all = createFollowers(parts, stop.signal)
  const slice = createGroups(parts.pace)
  const looks = new Map<string, Promise<FeedPage>>()

  const look: EntryFeed["look"] = async (workspace, request) =>
    queries.after(await workspaceOf(workspace), request)

  /**
   * Followers that wake together share one search. A search that began before the last growth is
   * not shared with followers that woke because of it.
   */
  function shared(of: string, workspace: string, request: FeedRequest): Promise<FeedPage> {
    const key = `${all.growths()} ${request.after} ${of}`
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
      const follower = all.enter(workspace)
      const wake = (): void => follower.wake()
      signal.addEventListener("abort", wake)
      try {
        let { after } = request
        while (!signal.aborted && !stop.signal.aborted && !follower.isOver) {
          if (follower.isBehind) {
            follower.isBehind = false
            const page = await laterIfBusy(shared(name, workspace, { ...request, after }))
            await slice()
            after = page?.nextAfter ?? after
            follower.isBehind ||= page?.hasMore ?? true
            if (page !== undefined && page.events.length > 0) yield page
            if (page === undefined && !follower.isDue) await asleep(follower)
          } else if (!follower.isDue) await asleep(follower)
          if (!follower.isDue) continue
          await slice()
          follower.isDue = false
          yield { events: [], sequences: [], nextAfter: after, hasMore: false }
        }
      } finally {
        signal.removeEventListener("abort", wake)
        all.leave(workspace, follower)
      }
    },
    close() {
      stop.abort()
      all.wakeAll()
    },
  }
}

/** Each checks its credential or writes to its socket: a millisecond or two for all. */
const followersPerSlice = 64

/**
 * Resumes those who wait in groups, each in a slice of its own. A look at the time would let all of
 * them pass: they wake together, and their work begins only after the last has looked.
 */
function createGroups(pace: Pace): () => Promise<void> {
  let group = Promise.resolve()
  let members = 0
  const next = (): Promise<void> => {
    // Without a slice under way, `next` would wait for the end of none.
    pace.isUp()
    return pace.next()
  }
  return () => {
    if (members++ % followersPerSlice === 0) group = group.then(next)
    return group
  }
}

function asleep(follower: Follower): Promise<void> {
  return new Promise((resolve) => (follower.wake = resolve))
}

/** The same for all requests that differ only in where they begin. */
function nameOf(workspace: string, request: FeedRequest): string {
  return JSON.stringify([workspace, { ...request, after: 0 }])
}

/**
 * Undefined if the service is busy: a follower can wait. If it were refused, all followers would
 * reconnect at once.
 */
async function laterIfBusy(looked: Promise<FeedPage>): Promise<FeedPage | undefined> {
  try {
    return await looked
  } catch (error) {
    if (error instanceof LedgerError && passing.includes(error.code)) return undefined
    throw error
  }
}

const passing: readonly ErrorCode[] = ["overloaded", "ledger_unavailable", "archive_unavailable"]

/** All followers, by workspace. One loop waits for growth and one timer wakes them, for all. */
function createFollowers({ grown, clock, limits, onDeath }: FeedParts, stop: AbortSignal) {
  const followersOf = new Map<string, Set<Follower>>()
  let count = 0
  let isBeating = false
  let isListening = false
  /** How often the store has reported growth. */
  let growths = 0

  const wakeAll = (): void => {
    for (const followers of followersOf.values())
      for (const follower of followers) {
        follower.isDue = true
        follower.wake()
      }
  }
  const beat = async (): Promise<void> => {
    isBeating = true
    while (count > 0) {
      await clock.sleep(limits.feedBeatMs)
      wakeAll()
    }
    isBeating = false
  }
  const leave = (workspace: string, follower: Follower): void => {
    const followers = followersOf.get(workspace)
    if (followers?.delete(follower) !== true) return
    count -= 1
    if (followers.size === 0) followersOf.delete(workspace)
  }
  /** The workspace with the most followers loses its oldest, so nobody can keep others out. */
  const makeRoom = (mine: number): void => {
    let [most, ofMost] = ["", new Set<Follower>()]
    for (const [workspace, followers] of followersOf)
      if (followers.size > ofMost.size) [most, ofMost] = [workspace, followers]
    const [oldest] = ofMost
    if (oldest === undefined || ofMost.size <= mine + 1) throw tooMany()
    leave(most, oldest)
    oldest.isOver = true
    oldest.isDue = true
    oldest.wake()
  }
  const listen = async (): Promise<void> => {
    isListening = true
    for await (const workspaces of grown(stop)) {
      growths += 1
      for (const workspace of workspaces)
        for (const follower of followersOf.get(workspace) ?? []) {
          follower.isBehind = true
          follower.wake()
        }
      await clock.sleep(limits.feedEveryMs)
    }
  }

  return {
    growths: () => growths,
    wakeAll,
    enter(workspace: string): Follower {
      const followers = followersOf.get(workspace) ?? new Set()
      if (followers.size >= limits.followersOfWorkspaceMax) throw tooMany()
      if (count >= limits.followersMax) makeRoom(followers.size)
      const follower: Follower = { isBehind: true, isDue: true, isOver: false, wake: () => {} }
      followersOf.set(workspace, followers.add(follower))
      count += 1
      if (!isListening) listen().catch(onDeath)
      if (!isBeating) void beat()
      return follower
    },
    leave,
  }
}

function tooMany(): LedgerError {
  return new LedgerError("overloaded", "there are too many followers; ask again in a moment")
}
