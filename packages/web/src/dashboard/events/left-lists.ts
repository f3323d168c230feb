// Lists that were left, for Back: the rows that were loaded, and the place on the page.

import type { Desk } from "../desk.ts"
import type { Rows } from "./rows.ts"

interface LeftList {
  readonly rows: Rows
  readonly top: number
}

/** Each may have 5,000 entries of 2 kB. */
const listsMax = 3

/** They end with the desk: the next member must not see them. */
const lists = new WeakMap<Desk, Map<string, LeftList>>()

export function keepList(desk: Desk, name: string, rows: Rows): void {
  const kept = lists.get(desk) ?? new Map<string, LeftList>()
  lists.set(desk, kept)
  kept.delete(name)
  kept.set(name, { rows, top: scrollY })
  const [oldest] = kept.keys()
  if (kept.size > listsMax && oldest !== undefined) kept.delete(oldest)
}

/** What they hold may be destroyed now. */
export function forgetLists(desk: Desk): void {
  lists.delete(desk)
}

export function leftList(desk: Desk, name: string): LeftList | undefined {
  return lists.get(desk)?.get(name)
}
