import { TallystickError } from "./error.ts"

/**
 * Everything in a list, page after page, each page when it is needed. `next` is undefined after the
 * last one.
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
    // Two pages that follow each other in a circle would never end.
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

/** Of a list with an opaque cursor. */
export function nextOf({ nextCursor }: { readonly nextCursor: string | null }): string | undefined {
  return nextCursor ?? undefined
}

/** Of entries, whose cursor is a place in the chain. */
export function placeAfter({
  hasMore,
  nextCursor,
}: {
  readonly hasMore: boolean
  readonly nextCursor: number
}): number | undefined {
  return hasMore ? nextCursor : undefined
}
