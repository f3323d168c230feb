import { path, type Call } from "./call.ts"
import type { CallOptions } from "./exchange.ts"
import type { Optional } from "./given.ts"
import { eachOf, nextOf } from "./paging.ts"
import type { ListQuery } from "./wire.ts"

/** What a workspace has of a kind: `list` reads one page, and `each` every page when needed. */
export function listing<
  Page extends { readonly nextCursor: string | null },
  Item,
  Own extends Readonly<Record<string, string | undefined>> = Readonly<Record<never, never>>,
>(call: Call, kind: string, itemsOf: (page: Page) => readonly Item[]) {
  type Query = Optional<ListQuery> & Optional<Own>
  const list = (workspaceId: string, query?: Query, options?: CallOptions): Promise<Page> =>
    call.get(path`/v1/workspaces/${workspaceId}/${kind}`, { ...query }, options)
  return {
    list,

    each: (
      workspaceId: string,
      query: Query = {},
      options?: CallOptions,
    ): AsyncGenerator<Item, void, undefined> =>
      eachOf(
        query,
        (asked) => list(workspaceId, asked, options),
        (page) => ({ items: itemsOf(page), next: nextOf(page) }),
      ),
  }
}
