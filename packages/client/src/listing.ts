import { path, type Call } from "./call.ts"
import type { CallOptions, Request } from "./exchange.ts"
import { eachOf, nextOf } from "./paging.ts"
import type { ListQuery } from "./wire.ts"

/** What a workspace has of a kind: `list` reads one page, and `each` every page when needed. */
export function listing<
  Page extends { readonly nextCursor: string | null },
  Item,
  Own extends Readonly<Record<string, string | undefined>> = Readonly<Record<never, never>>,
>(call: Call, kind: string, itemsOf: (page: Page) => readonly Item[]) {
  const page = (
    workspaceId: string,
    query: NonNullable<Request["query"]>,
    options: CallOptions | undefined,
  ): Promise<Page> => call.get(path`/v1/workspaces/${workspaceId}/${kind}`, query, options)
  return {
    list: (
      workspaceId: string,
      query?: Partial<ListQuery> & Partial<Own>,
      options?: CallOptions,
    ): Promise<Page> => page(workspaceId, { ...query }, options),

    each: (
      workspaceId: string,
      query?: Partial<ListQuery> & Partial<Own>,
      options?: CallOptions,
    ): AsyncGenerator<Item, void, undefined> =>
      eachOf(
        (cursor) =>
          page(workspaceId, cursor === undefined ? { ...query } : { ...query, cursor }, options),
        (page) => ({ items: itemsOf(page), next: nextOf(page) }),
        query?.cursor,
      ),
  }
}
