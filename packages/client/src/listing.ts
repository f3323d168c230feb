import { path, type Call } from "./call.ts"
import type { CallOptions } from "./exchange.ts"
import type { Optional } from "./given.ts"
import { eachOf, nextOf } from "./paging.ts"
import type { ListQuery } from "./wire.ts"

type Asked<Own> = Optional<ListQuery> & Optional<Own>

/** What a workspace has of a kind. */
export interface Listing<Page, Item, Own> {
  /** One page. */
  readonly list: (workspaceId: string, query?: Asked<Own>, options?: CallOptions) => Promise<Page>
  /** All of them, a page at a time. */
  readonly each: (
    workspaceId: string,
    query?: Asked<Own>,
    options?: CallOptions,
  ) => AsyncGenerator<Item, void, undefined>
}

export function listing<
  Page extends { readonly nextCursor: string | null },
  Item,
  Own extends Readonly<Record<string, string | undefined>> = Readonly<Record<never, never>>,
>(call: Call, kind: string, itemsOf: (page: Page) => readonly Item[]): Listing<Page, Item, Own> {
  const list: Listing<Page, Item, Own>["list"] = (workspaceId, query, options) =>
    call.get(path`/v1/workspaces/${workspaceId}/${kind}`, { ...query }, options)
  return {
    list,
    each: (workspaceId, query = {}, options) =>
      eachOf(
        query,
        (asked) => list(workspaceId, asked, options),
        (page) => ({ items: itemsOf(page), next: nextOf(page) }),
      ),
  }
}
