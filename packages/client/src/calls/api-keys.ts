import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { eachOf, nextOf } from "../paging.ts"
import type { ApiKey, ApiKeyList, CreatedApiKey, ListQuery, NewApiKey } from "../wire.ts"

export function apiKeyCalls(call: Call) {
  const list = (workspaceId: string, query: Partial<ListQuery> = {}, options?: CallOptions): Promise<ApiKeyList> =>
    call.json({ method: "GET", path: path`/v1/workspaces/${workspaceId}/api-keys`, query: { ...query } }, options)
  return {
    /** The answer is the only one that shows the key. */
    create: (workspaceId: string, key: NewApiKey, options?: CallOptions): Promise<CreatedApiKey> =>
      call.json({ method: "POST", path: path`/v1/workspaces/${workspaceId}/api-keys`, body: key }, options),

    list,

    each: (workspaceId: string, query: Partial<ListQuery> = {}, options?: CallOptions): AsyncGenerator<ApiKey, void, undefined> =>
      eachOf(
        (cursor) => list(workspaceId, cursor === undefined ? query : { ...query, cursor }, options),
        (page) => ({ items: page.apiKeys, next: nextOf(page) }),
        query.cursor,
      ),

    /** Ends a key, and every token that was made with it. */
    revoke: (workspaceId: string, keyId: string, options?: CallOptions): Promise<void> =>
      call.nothing({ method: "DELETE", path: path`/v1/workspaces/${workspaceId}/api-keys/${keyId}` }, options),
  }
}
