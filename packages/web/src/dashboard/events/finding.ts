// The search and its result. An earlier result stays until the new one has arrived.

import type { EventsPage, FieldValues } from "@tallystick/client/wire"
import type { Desk } from "../desk.ts"
import type { Query } from "../place.ts"
import { keepList, leftList } from "./left-lists.ts"
import { createActorNames } from "./actor-names.ts"
import { filterOf, type Asked } from "./asked.ts"
import type { Recomputer } from "./recompute.ts"
import { createRows, type Rows } from "./rows.ts"

interface FindingParts {
  readonly desk: Desk
  readonly recomputer: Recomputer
  /** Called when the first page of a new search has arrived. */
  readonly found: () => void
  readonly changed: () => void
}

export type Finding = ReturnType<typeof createFinding>

export function createFinding(parts: FindingParts, first: Asked) {
  const { desk, recomputer, found, changed } = parts
  let asked = first
  let at = new Date()
  let filter: Query = {}
  let rows: Rows | undefined
  let coming: Rows | undefined
  let top: number | undefined
  const names = createActorNames()
  function changedIn(which: Rows): void {
    if (which === coming) {
      rows = which
      coming = undefined
      desk.working(false)
      found()
    }
    if (which !== rows) return
    names.learn(which.all)
    changed()
  }
  const leave = (): void => {
    if (rows !== undefined) keepList(desk, nameOf(asked), rows)
  }
  return {
    get asked() {
      return asked
    },
    get at() {
      return at
    },
    get filter() {
      return filter
    },
    get rows() {
      return rows
    },
    names,
    /** Where the page was when this list was left, if the reader came back to it. */
    get top() {
      return top
    },
    ask(next: Asked, isBack = false): void {
      leave()
      asked = next
      at = new Date()
      const left = isBack ? leftList(desk, nameOf(asked)) : undefined
      top = left?.top
      const asks = (filter = filterOf(asked, at))
      const made = createRows({
        load: (cursor, limit) =>
          desk.get<EventsPage>(["events"], { ...asks, cursor, limit, include: "proof" }),
        recompute: (entries) => recomputer.recompute(entries),
        ...(left && { left: left.rows }),
        changed: () => changedIn(made),
      })
      coming = made
      desk.working(true)
      void made.begin()
    },
    /** Drops what is still to come. */
    close(): void {
      leave()
      if (coming !== undefined) desk.working(false)
      rows = coming = undefined
    },
    /** The values that entries of the range have in a field. */
    values: (field: string) =>
      desk.get<FieldValues>(["events", "values"], {
        ...filterOf({ ...asked, text: "" }, at),
        field,
        limit: 50,
      }),
  }
}

function nameOf(asked: Asked): string {
  return JSON.stringify(asked)
}
