// A paged list: newest first, with a button for older items.

import type { Refusal, Told } from "../ask.ts"
import type { Child } from "../elements/jsx-runtime.ts"
import { redraw } from "../elements/redraw.ts"
import { Button } from "./button.tsx"
import { CopyCurl } from "./curl.tsx"
import { elementOf } from "./page.tsx"
import { Skeleton } from "./refused.tsx"
import { RefusedPart } from "./shared-refusal.tsx"

interface ListProps<Item> {
  readonly load: (cursor: string | undefined) => Promise<Told<ItemPage<Item>>>
  readonly draw: (items: readonly Item[]) => Node
  /** The API call, for programs. */
  readonly url: string
  /** Shown if the list is empty. */
  readonly empty: () => Child
}

export interface ItemPage<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

export interface PagedList {
  readonly node: Node
  /** Loads the list again: an item was added or removed. */
  reload(): void
}

export function pagedList<Item>({ load, draw, url, empty }: ListProps<Item>): PagedList {
  const place = elementOf(<div class="paged" />)
  let items: readonly Item[] = []
  let latest: symbol | undefined
  async function next(cursor?: string): Promise<void> {
    const wanted = (latest = Symbol("a page"))
    place.setAttribute("aria-busy", "true")
    const told = await load(cursor)
    // The list was loaded again meanwhile.
    if (latest !== wanted) return
    place.setAttribute("aria-busy", "false")
    if (!told.ok) return show(cursor, told.refusal)
    items = cursor === undefined ? told.value.items : [...items, ...told.value.items]
    show(told.value.nextCursor)
  }
  function show(cursor: string | null | undefined, refusal?: Refusal): void {
    redraw(
      place,
      <>{items.length > 0 ? draw(items) : refusal === undefined && empty()}</>,
      <>
        {refusal !== undefined && (
          <RefusedPart refusal={refusal} retry={() => void next(cursor ?? undefined)} />
        )}
        <p class="actions older">
          {refusal === undefined && typeof cursor === "string" && (
            <Button onClick={() => void next(cursor)}>Show older</Button>
          )}
          <CopyCurl url={url} />
        </p>
      </>,
    )
  }
  place.append(<Skeleton />)
  void next()
  return { node: place, reload: () => void next() }
}
