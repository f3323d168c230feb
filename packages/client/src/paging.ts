import { TallystickError } from "./error.ts"

/**
 * All items of a list; each page is fetched when needed. `next` is undefined after the last page.
 */
export async function* eachOf<Page, Item, Cursor>(
  page: (cursor: Cursor | undefined) => Promise<Page>,
  read: (page: Page) => { readonly items: readonly Item[]; readonly next: Cursor | undefined },
  from?: Cursor,
): AsyncGenerator<Item, void, undefined> {
  for (let cursor = from; ;) {
    const { items, next } = read(await page(cursor))
    yield* items
    if (next === undefined) return
    // A repeated cursor would never end.
    if (next === cursor) {
      throw new TallystickError({
        code: "unexpected_answer",
        detail: "the next page is the one that was just read",
        status: 200,
        outcome: "rejected",
      })
    }
    cursor = next
  }
}

/** For lists with an opaque cursor. */
export function nextOf({ nextCursor }: { readonly nextCursor: string | null }): string | undefined {
  return nextCursor ?? undefined
}

/** For entries, whose cursor is a place in the chain. */
export function placeAfter({
  hasMore,
  nextCursor,
}: {
  readonly hasMore: boolean
  readonly nextCursor: number
}): number | undefined {
  return hasMore ? nextCursor : undefined
}
