import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Optional } from "../given.ts"
import { eachEntry } from "../paging.ts"
import type { ActivityPage, ActivityQuery, ListedEntry } from "../wire.ts"

/** The token is the client's key; it never goes into an address. */
export type ActivityAsked = Optional<Omit<ActivityQuery, "token">>

/** What concerns the person that an activity token is for. The client's key must be that token. */
export function activityCalls(call: Call) {
  const list = (
    workspaceId: string,
    query: ActivityAsked = {},
    options?: CallOptions,
  ): Promise<ActivityPage> =>
    call.get(path`/v1/workspaces/${workspaceId}/activity`, { ...query }, options)
  return {
    /** One page of entries, newest first. */
    list,

    /** Every entry, newest first, a page at a time. */
    each: (
      workspaceId: string,
      query: ActivityAsked = {},
      options?: CallOptions,
    ): AsyncGenerator<ListedEntry, void, undefined> =>
      eachEntry(query, (asked) => list(workspaceId, asked, options)),
  }
}
