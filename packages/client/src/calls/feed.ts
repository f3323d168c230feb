import { path, type Call } from "../call.ts"
import type { Effects } from "../effects.ts"
import type { CallOptions } from "../exchange.ts"
import { follow, type FollowAsked } from "../follow.ts"
import type { EventsFeed, FeedQuery, ListedEntry } from "../wire.ts"

export type FeedAsked = Partial<FeedQuery>

/** Longer than the service waits. */
const attemptTimeoutMs = 45_000

export function feedCalls(call: Call, effects: Pick<Effects, "sleep" | "random">) {
  return {
    /**
     * The entries after a sequence, oldest first. Ask again with the answer's `nextAfter`; with
     * `wait`, the service waits for so many seconds until there is one.
     */
    feed: (
      workspaceId: string,
      query: FeedAsked = {},
      options?: CallOptions,
    ): Promise<EventsFeed> =>
      call.get(
        path`/v1/workspaces/${workspaceId}/events/feed`,
        { ...query },
        query.wait === undefined ? options : { attemptTimeoutMs, ...options },
      ),

    /**
     * Every entry after a sequence, oldest first, and then each as it is recorded, without end.
     * After a cut it goes on where it was: nothing is missed and nothing comes twice.
     */
    follow: (
      workspaceId: string,
      query: FollowAsked = {},
      options?: CallOptions,
    ): AsyncGenerator<ListedEntry, void, undefined> =>
      follow(call, effects, workspaceId, query, options),
  }
}
