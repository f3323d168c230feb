import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given } from "../given.ts"
import { listing } from "../listing.ts"
import type { Erasure, ErasureList, ErasurePreview, NewErasure } from "../wire.ts"

export function erasureCalls(call: Call) {
  const post = <T>(
    workspaceId: string,
    body: Given<NewErasure>,
    options?: CallOptions,
  ): Promise<T> => call.post(path`/v1/workspaces/${workspaceId}/erasures`, body, options)
  const lists = listing(call, "erasures", (page: ErasureList) => page.erasures)
  return Object.assign(lists, {
    /** Requests the erasure of a person. It is carried out after the answer, or once holds end. */
    request: (
      workspaceId: string,
      erasure: Omit<NewErasure, "dryRun">,
      options?: CallOptions,
    ): Promise<Erasure> => post(workspaceId, erasure, options),

    /** The content that an erasure would destroy. Nothing is erased. */
    preview: (
      workspaceId: string,
      erasure: Omit<NewErasure, "dryRun">,
      options?: CallOptions,
    ): Promise<ErasurePreview> => post(workspaceId, { ...erasure, dryRun: true }, options),

    get: (workspaceId: string, erasureId: string, options?: CallOptions): Promise<Erasure> =>
      call.get(path`/v1/workspaces/${workspaceId}/erasures/${erasureId}`, {}, options),
  })
}
