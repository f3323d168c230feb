// A paged list as a table: newest first, with a button for older items.

import type { Told } from "../ask.ts"
import { elementOf, redraw } from "../elements/elements.ts"
import { Button, waiting } from "../parts/button.tsx"
import { number } from "../parts/counted.ts"
import { CopyCurl } from "../parts/copy.tsx"
import { Refused, Skeleton } from "../parts/refused.tsx"
import { Table, type Column } from "../parts/table.tsx"
import type { Desk } from "./desk.ts"
import { endpointUrl, type Query } from "./place.ts"

interface ListParts<List, Item> {
  readonly itemsOf: (list: List) => readonly Item[]
  /** `reload`: an item was added or removed. */
  readonly columns: (reload: () => void) => readonly Column<Item>[]
  readonly isOver?: (item: Item) => boolean
  readonly empty: string
  /** The text by which an item is found. */
  readonly textOf?: (item: Item) => string
  readonly add?: { readonly name: string; readonly open: (reload: () => void) => unknown }
  readonly shown?: (items: readonly Item[]) => void
}

interface PagedParts<List, Item> extends ListParts<List, Item> {
  readonly load: (cursor: string | undefined) => Promise<Told<List>>
  /** The API call, for programs. */
  readonly url: string
}

interface ListedParts<List, Item> extends ListParts<List, Item> {
  readonly path: readonly string[]
  readonly query?: Query
}

interface Paged {
  readonly nextCursor: string | null
}

export type ListedTable = ReturnType<typeof listedTable>

/** A search loads so many items, and offers the older ones. */
const searchedMax = 2000
/** A shorter list is seen whole. */
const unsearchedMax = 10

/** One of the workspace. */
export function listedTable<List extends Paged, Item>(
  desk: Desk,
  { path, query = {}, ...parts }: ListedParts<List, Item>,
) {
  return pagedTable<List, Item>({
    url: endpointUrl(desk.workspace, path, query).href,
    load: (cursor) => desk.get<List>(path, { ...query, cursor }),
    ...parts,
  })
}

export function pagedTable<List extends Paged, Item>(parts: PagedParts<List, Item>) {
  const { load, url, itemsOf, columns, isOver, empty, textOf, add, shown } = parts
  const place = elementOf(<div class="paged" />)
  const search = textOf && createSearch(textOf, look)
  let items: readonly Item[] = []
  let more: string | undefined
  let latest: object | undefined
  const reload = (): void => void next(undefined, items.length)
  /** `least`: how many items to load, so that a list that is loaded again keeps its pages. */
  async function next(from?: string, least = 0): Promise<void> {
    const wanted = (latest = {})
    let found = from === undefined ? [] : items
    let cursor = from
    place.setAttribute("aria-busy", "true")
    do {
      const told = await load(cursor)
      // The list was loaded again meanwhile.
      if (latest !== wanted) return
      if (!told.ok) return end({ ...told, retry: () => void next(from, least) })
      found = [...found, ...itemsOf(told.value)]
      cursor = told.value.nextCursor ?? undefined
    } while (cursor !== undefined && found.length < (search?.isUsed() ? searchedMax : least))
    items = found
    more = cursor
    end()
  }
  function end(refused?: Parameters<typeof Refused>[0]): void {
    place.setAttribute("aria-busy", "false")
    if (items.length > 0) shown?.(items)
    draw(refused)
  }
  function draw(refused?: Parameters<typeof Refused>[0]): void {
    const found = search?.found(items) ?? items
    redraw(
      place,
      <>
        {found.length > 0 ? (
          <Table columns={columns(reload)} items={found} isOver={isOver} />
        ) : (
          refused === undefined && <p class="soft">{search?.isUsed() ? "Nothing found." : empty}</p>
        )}
      </>,
      <>
        {refused !== undefined && <Refused {...refused} isPart />}
        <p class="actions older">
          {refused === undefined && more !== undefined && (
            <Button onClick={waiting(() => next(more))}>Show older</Button>
          )}
          <CopyCurl url={url} />
        </p>
      </>,
    )
  }
  function look(): void {
    draw()
    const isWhole = more === undefined || items.length >= searchedMax
    if (!isWhole && place.ariaBusy !== "true") void next(more)
  }
  place.addEventListener("stale", reload)
  place.append(<Skeleton />)
  void next()
  const node = (
    <>
      {(add ?? search) && (
        <p class="actions">
          {add && (
            <Button kind="main" onClick={waiting(async () => add.open(reload))}>
              {add.name}
            </Button>
          )}
          {search?.nodes}
        </p>
      )}
      {place}
    </>
  )
  return {
    node,
    /** Loads the list again: an item was added or removed. */
    reload,
  }
}

function createSearch<Item>(textOf: (item: Item) => string, changed: () => void) {
  const count = elementOf(<span class="quiet small" role="status" />)
  const field = document.createElement("input")
  Object.assign(field, { className: "field", type: "search", hidden: true })
  field.placeholder = field.ariaLabel = "Search this list"
  field.addEventListener("input", changed)
  return {
    nodes: [field, count],
    isUsed: () => field.value !== "",
    found(items: readonly Item[]): readonly Item[] {
      const text = searchedText(field.value)
      const found = items.filter((item) => textOf(item).toLowerCase().includes(text))
      field.hidden = items.length <= unsearchedMax && text === ""
      count.textContent = text === "" ? "" : `${number(found.length)} of ${number(items.length)}`
      return found
    },
  }
}

/** Of a key, the part that its row shows, so that a leaked one is found. */
function searchedText(typed: string): string {
  return typed
    .trim()
    .toLowerCase()
    .replace(/^(tsk_[^_]*_).+$/, "$1")
}
