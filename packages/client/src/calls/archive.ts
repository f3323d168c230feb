import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { eachOf, nextOf } from "../paging.ts"
import type { ArchiveSegment, ArchiveSegmentList, ListQuery } from "../wire.ts"

export function archiveCalls(call: Call) {
  const segments = (
    workspaceId: string,
    query: Partial<ListQuery> = {},
    options?: CallOptions,
  ): Promise<ArchiveSegmentList> =>
    call.json(
      { method: "GET", path: path`/v1/workspaces/${workspaceId}/segments`, query: { ...query } },
      options,
    )
  return {
    /** The files that have the bodies of old entries, newest first. */
    segments,

    eachSegment: (
      workspaceId: string,
      query: Partial<ListQuery> = {},
      options?: CallOptions,
    ): AsyncGenerator<ArchiveSegment, void, undefined> =>
      eachOf(
        (cursor) =>
          segments(workspaceId, cursor === undefined ? query : { ...query, cursor }, options),
        (page) => ({ items: page.segments, next: nextOf(page) }),
        query.cursor,
      ),
  }
}
