import { jsonOf, path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given, Optional } from "../given.ts"
import { listing } from "../listing.ts"
import type { ApiKeyList, CreatedApiKey, MadeByKey, NewApiKey, RevokeQuery } from "../wire.ts"

export function apiKeyCalls(call: Call) {
  const lists = listing(call, "api-keys", (page: ApiKeyList) => page.apiKeys)
  return Object.assign(lists, {
    /** The answer is the only one that shows the key. */
    create: (
      workspaceId: string,
      key: Given<NewApiKey>,
      options?: CallOptions,
    ): Promise<CreatedApiKey> =>
      call.post(path`/v1/workspaces/${workspaceId}/api-keys`, key, options),

    /**
     * Ends a key, and every token that was made with it. The answer says what else it has made that
     * lives, and is undefined if there is nothing.
     */
    revoke: (
      workspaceId: string,
      keyId: string,
      query: Optional<RevokeQuery> = {},
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
  })
}
