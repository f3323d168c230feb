import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { listing } from "../listing.ts"
import type {
  Hold,
  HoldList,
  HoldRelease,
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
  const { list, each } = listing(call, "holds", (page: HoldList) => page.holds)
  return {
    place: (workspaceId: string, hold: NewHold, options?: CallOptions): Promise<Hold> =>
      call.json(
        { method: "POST", path: path`/v1/workspaces/${workspaceId}/holds`, body: hold },
        options,
      ),

    list,
    each,

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
