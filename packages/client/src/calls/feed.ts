import { definedOf } from "@tallystick/proof"
import { path, type Call } from "../call.ts"
import type { Effects } from "../effects.ts"
import { callOptionsOf, type CallOptions } from "../exchange.ts"
import { objectOf, type Optional } from "../given.ts"
import { follow, type FollowAsked } from "../follow.ts"
import type { EventsFeed, FeedQuery, ListedEntry } from "../wire.ts"

export type FeedAsked = Optional<FeedQuery>

/** Longer than the service waits. */
const attemptTimeoutMs = 45_000

export function feedCalls(call: Call, effects: Pick<Effects, "sleep" | "random">) {
  return {
    /**
     * The entries after a sequence, oldest first. Call again with the answer's `nextAfter`. With
     * `wait`, the service waits up to this many seconds for an entry.
     */
    feed: async (
      workspaceId: string,
      query?: FeedAsked,
      options?: CallOptions,
    ): Promise<EventsFeed> => {
      const isWaiting = objectOf(query, "query").wait !== undefined
      return await call.get(
        path`/v1/workspaces/${workspaceId}/events/feed`,
        { ...query },
        isWaiting ? { attemptTimeoutMs, ...definedOf(callOptionsOf(options)) } : options,
      )
    },

    /**
     * Every entry after a sequence, oldest first, and then new ones as they are recorded,
     * endlessly. After a lost connection it continues where it was: no entry is missed or repeated.
     */
    follow: (
      workspaceId: string,
      query: FollowAsked = {},
      options?: CallOptions,
    ): AsyncGenerator<ListedEntry, void, undefined> =>
      follow(call, effects, workspaceId, query, options),
  }
}
