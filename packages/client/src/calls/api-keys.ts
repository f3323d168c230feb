import { jsonOf, path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { eachOf, nextOf } from "../paging.ts"
import type {
  ApiKey,
  ApiKeyList,
  CreatedApiKey,
  ListQuery,
  MadeByKey,
  NewApiKey,
  RevokeQuery,
} from "../wire.ts"

export function apiKeyCalls(call: Call) {
  const list = (
    workspaceId: string,
    query: Partial<ListQuery> = {},
    options?: CallOptions,
  ): Promise<ApiKeyList> =>
    call.json(
      { method: "GET", path: path`/v1/workspaces/${workspaceId}/api-keys`, query: { ...query } },
      options,
    )
  return {
    /** The answer is the only one that shows the key. */
    create: (workspaceId: string, key: NewApiKey, options?: CallOptions): Promise<CreatedApiKey> =>
      call.json(
        { method: "POST", path: path`/v1/workspaces/${workspaceId}/api-keys`, body: key },
        options,
      ),

    list,

    each: (
      workspaceId: string,
      query: Partial<ListQuery> = {},
      options?: CallOptions,
    ): AsyncGenerator<ApiKey, void, undefined> =>
      eachOf(
        (cursor) => list(workspaceId, cursor === undefined ? query : { ...query, cursor }, options),
        (page) => ({ items: page.apiKeys, next: nextOf(page) }),
        query.cursor,
      ),

    /**
     * Ends a key, and every token that was made with it. The answer says what else it has made that
     * lives, and is undefined if there is nothing.
     */
    revoke: (
      workspaceId: string,
      keyId: string,
      query: Partial<RevokeQuery> = {},
      options?: CallOptions,
    ): Promise<MadeByKey | undefined> =>
      call.exchange(
        {
          method: "DELETE",
          path: path`/v1/workspaces/${workspaceId}/api-keys/${keyId}`,
          query: { ...query },
        },
        (response) =>
          response.status === 204 ? Promise.resolve(undefined) : jsonOf<MadeByKey>(response),
        options,
      ),
  }
}
