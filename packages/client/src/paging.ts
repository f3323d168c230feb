import { brokenAnswer } from "./error.ts"
import type { EventsPage, ListedEntry } from "./wire.ts"

/**
 * All items of a list; each page is fetched when needed. `next` is undefined after the last page.
 */
export async function* eachOf<
  Page,
  Item,
  Cursor,
  Query extends { readonly cursor?: Cursor | undefined },
>(
  query: Query,
  page: (query: Query) => Promise<Page>,
  read: (page: Page) => { readonly items: readonly Item[]; readonly next: Cursor | undefined },
): AsyncGenerator<Item, void, undefined> {
  for (let asked = query; ;) {
    const { items, next } = read(await page(asked))
    if (!Array.isArray(items)) throw brokenAnswer("the page has no items")
    yield* items
    if (next === undefined) return
    // A repeated cursor would never end.
    if (next === asked.cursor) throw brokenAnswer("the next page is the one that was just read")
    asked = { ...query, cursor: next }
  }
}

/** For lists with an opaque cursor. */
export function nextOf({ nextCursor }: { readonly nextCursor: string | null }): string | undefined {
  return nextCursor ?? undefined
}

/** All entries of a query, whose cursor is a place in the chain. */
export function eachEntry<Query extends { readonly cursor?: number | undefined }>(
  query: Query,
  page: (query: Query) => Promise<EventsPage>,
): AsyncGenerator<ListedEntry, void, undefined> {
  return eachOf(query, page, ({ events, hasMore, nextCursor }) => ({
    items: events,
    next: hasMore ? nextCursor : undefined,
  }))
}
