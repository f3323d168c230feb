// All items of a list that has few pages, for choices and warnings that must not miss one.

import type { ApiKey, ApiKeyList, Project, ProjectList } from "@tallystick/client/wire"
import type { Told } from "../ask.ts"
import type { Desk } from "./desk.ts"

export function everyProject(desk: Desk): Promise<Told<readonly Project[]>> {
  return everyItem(desk, "projects", ({ projects }: ProjectList) => projects)
}

export function everyKey(desk: Desk): Promise<Told<readonly ApiKey[]>> {
  return everyItem(desk, "api-keys", ({ apiKeys }: ApiKeyList) => apiKeys)
}

async function everyItem<List extends { readonly nextCursor: string | null }, Item>(
  { get }: Desk,
  path: string,
  itemsOf: (list: List) => readonly Item[],
): Promise<Told<readonly Item[]>> {
  const items: Item[] = []
  for (let cursor: string | undefined; ;) {
    const told = await get<List>([path], { limit: 100, cursor })
    if (!told.ok) return told
    items.push(...itemsOf(told.value))
    if (told.value.nextCursor === null) return { ok: true, value: items }
    cursor = told.value.nextCursor
  }
}
