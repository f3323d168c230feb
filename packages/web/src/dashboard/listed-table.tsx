// A paged list of the workspace as a table.

import { pagedList, type PagedList } from "../parts/paged-list.tsx"
import { Table, type Column } from "../parts/table.tsx"
import type { Desk } from "./desk.ts"
import { endpointUrl, type Query } from "./place.ts"

interface ListedTable<List, Item> {
  readonly path: readonly string[]
  readonly query?: Query
  readonly itemsOf: (list: List) => readonly Item[]
  /** `reload`: an item was added or removed. */
  readonly columns: (reload: () => void) => readonly Column<Item>[]
  /** For items that have ended: revoked or expired. */
  readonly isOver?: (item: Item) => boolean
  /** Shown if the list is empty. */
  readonly empty: string
  /** Called with the items of each page. */
  readonly shown?: (items: readonly Item[]) => void
}

export function listedTable<List extends { readonly nextCursor: string | null }, Item>(
  desk: Desk,
  { path, query = {}, itemsOf, columns, isOver, empty, shown }: ListedTable<List, Item>,
): PagedList {
  const list = pagedList<Item>({
    url: endpointUrl(desk.workspace, path, query).href,
    async load(cursor) {
      const told = await desk.get<List>(path, { ...query, cursor })
      if (!told.ok) return told
      const { value } = told
      return { ok: true, value: { items: itemsOf(value), nextCursor: value.nextCursor } }
    },
    empty: () => <p class="soft">{empty}</p>,
    draw(items) {
      shown?.(items)
      const parts = { columns: columns(() => list.reload()), items }
      return isOver === undefined ? <Table {...parts} /> : <Table {...parts} isOver={isOver} />
    },
  })
  return list
}
