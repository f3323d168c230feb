import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { eachOf, nextOf } from "../paging.ts"
import type {
  Hold,
  HoldList,
  HoldRelease,
  ListQuery,
  NewHold,
  RetentionCounting,
  RetentionPreview,
  RetentionPreviewRequest,
  RetentionRun,
} from "../wire.ts"

export function retentionCalls(call: Call) {
  return {
    /**
     * What rules would expire today. A large ledger is counted in the background: `of` tells such
     * an answer, and asking again gets the result.
     */
    preview: (
      workspaceId: string,
      rules: RetentionPreviewRequest = {},
      options?: CallOptions,
    ): Promise<RetentionPreview | RetentionCounting> =>
      call.json(
        {
          method: "POST",
          path: path`/v1/workspaces/${workspaceId}/retention/preview`,
          body: rules,
        },
        options,
      ),

    /** Destroys the contents that have passed their time. */
    run: (workspaceId: string, options?: CallOptions): Promise<RetentionRun> =>
      call.json(
        { method: "POST", path: path`/v1/workspaces/${workspaceId}/retention/run`, body: {} },
        options,
      ),
  }
}

export function holdCalls(call: Call) {
  const list = (
    workspaceId: string,
    query: Partial<ListQuery> = {},
    options?: CallOptions,
  ): Promise<HoldList> =>
    call.json(
      { method: "GET", path: path`/v1/workspaces/${workspaceId}/holds`, query: { ...query } },
      options,
    )
  return {
    place: (workspaceId: string, hold: NewHold, options?: CallOptions): Promise<Hold> =>
      call.json(
        { method: "POST", path: path`/v1/workspaces/${workspaceId}/holds`, body: hold },
        options,
      ),

    list,

    each: (
      workspaceId: string,
      query: Partial<ListQuery> = {},
      options?: CallOptions,
    ): AsyncGenerator<Hold, void, undefined> =>
      eachOf(
        (cursor) => list(workspaceId, cursor === undefined ? query : { ...query, cursor }, options),
        (page) => ({ items: page.holds, next: nextOf(page) }),
        query.cursor,
      ),

    get: (workspaceId: string, holdId: string, options?: CallOptions): Promise<Hold> =>
      call.json(
        { method: "GET", path: path`/v1/workspaces/${workspaceId}/holds/${holdId}` },
        options,
      ),

    /** The hold stays in the list, as released. */
    release: (
      workspaceId: string,
      holdId: string,
      release: HoldRelease,
      options?: CallOptions,
    ): Promise<Hold> =>
      call.json(
        {
          method: "DELETE",
          path: path`/v1/workspaces/${workspaceId}/holds/${holdId}`,
          body: release,
        },
        options,
      ),
  }
}
