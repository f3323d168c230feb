// A list of the workspace, as an endpoint pages it.

import type { Told } from "../ask.ts"
import type { ItemPage } from "../parts/paged-list.tsx"
import { apiUrl } from "../place.ts"
import type { Desk } from "./desk.ts"
import { searchOf, type Query } from "./place.ts"

interface Listed<Item> {
  readonly load: (cursor: string | undefined) => Promise<Told<ItemPage<Item>>>
  readonly url: string
}

export function listed<List extends { readonly nextCursor: string | null }, Item>(
  desk: Desk,
  path: readonly string[],
  itemsOf: (list: List) => readonly Item[],
  query: Query = {},
): Listed<Item> {
  const url = apiUrl(desk.workspace, ...path)
  url.search = searchOf(query).toString()
  return {
    url: url.href,
    async load(cursor) {
      const told = await desk.get<List>(path, { ...query, cursor })
      if (!told.ok) return told
      const { value } = told
      return { ok: true, value: { items: itemsOf(value), nextCursor: value.nextCursor } }
    },
  }
}
