import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given } from "../given.ts"
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
     * The contents that rules would expire today. A large ledger is counted in the background: `of`
     * marks such an answer, and another call gets the result.
     */
    preview: (
      workspaceId: string,
      rules: Given<RetentionPreviewRequest> = {},
      options?: CallOptions,
    ): Promise<RetentionPreview | RetentionCounting> =>
      call.post(path`/v1/workspaces/${workspaceId}/retention/preview`, rules, options),

    /** Destroys expired contents. */
    run: (workspaceId: string, options?: CallOptions): Promise<RetentionRun> =>
      call.post(path`/v1/workspaces/${workspaceId}/retention/run`, {}, options),
  }
}

export function holdCalls(call: Call) {
  const lists = listing(call, "holds", (page: HoldList) => page.holds)
  return Object.assign(lists, {
    place: (workspaceId: string, hold: Given<NewHold>, options?: CallOptions): Promise<Hold> =>
      call.post(path`/v1/workspaces/${workspaceId}/holds`, hold, options),

    get: (workspaceId: string, holdId: string, options?: CallOptions): Promise<Hold> =>
      call.get(path`/v1/workspaces/${workspaceId}/holds/${holdId}`, {}, options),

    /** The hold stays in the list, as released. */
    release: (
      workspaceId: string,
      holdId: string,
      release: Given<HoldRelease>,
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
  })
}
