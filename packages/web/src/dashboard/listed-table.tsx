// A list of the workspace as a table, as an endpoint pages it.

import { pagedList, type PagedList } from "../parts/paged-list.tsx"
import { Table, type Column } from "../parts/table.tsx"
import { apiUrl } from "../place.ts"
import type { Desk } from "./desk.ts"
import { searchOf, type Query } from "./place.ts"

interface ListedTable<List, Item> {
  readonly path: readonly string[]
  readonly query?: Query
  readonly itemsOf: (list: List) => readonly Item[]
  /** `reload`: something was added or taken away. */
  readonly columns: (reload: () => void) => readonly Column<Item>[]
  /** Of what is over: revoked, or expired. */
  readonly isOver?: (item: Item) => boolean
  /** What stands there when there is none. */
  readonly empty: string
  /** Is called with what is listed, each time. */
  readonly shown?: (items: readonly Item[]) => void
}

export function listedTable<List extends { readonly nextCursor: string | null }, Item>(
  desk: Desk,
  { path, query = {}, itemsOf, columns, isOver, empty, shown }: ListedTable<List, Item>,
): PagedList {
  const url = apiUrl(desk.workspace, ...path)
  url.search = searchOf(query).toString()
  const list = pagedList<Item>({
    url: url.href,
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
