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

interface FindingState {
  asked: Asked
  /** When it was asked, and with which parameters. */
  at: Date
  filter: Query
  rows: Rows | undefined
  /** Where the page was when this list was left, if the reader came back to it. */
  top: number | undefined
}

export function createFinding(parts: FindingParts, first: Asked) {
  const { desk, recomputer, found, changed } = parts
  const now: FindingState = {
    asked: first,
    at: new Date(),
    filter: {},
    rows: undefined,
    top: undefined,
  }
  let coming: Rows | undefined
  const names = createActorNames()
  function changedIn(which: Rows): void {
    if (which === coming) {
      now.rows = which
      coming = undefined
      desk.working(false)
      found()
    }
    if (which !== now.rows) return
    names.learn(which.all)
    changed()
  }
  const leave = (): void => {
    if (now.rows !== undefined) keepList(desk, nameOf(now.asked), now.rows)
  }
  const state: Readonly<FindingState> = now
  return Object.assign(state, {
    names,
    ask(asked: Asked, isBack = false): void {
      leave()
      const at = new Date()
      const left = isBack ? leftList(desk, nameOf(asked)) : undefined
      const filter = filterOf(asked, at)
      Object.assign(now, { asked, at, filter, top: left?.top })
      const made = createRows({
        load: (cursor, limit) =>
          desk.get<EventsPage>(["events"], { ...filter, cursor, limit, include: "proof" }),
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
      now.rows = coming = undefined
    },
    values: (field: string) =>
      desk.get<FieldValues>(["events", "values"], {
        ...filterOf({ ...now.asked, text: "" }, now.at),
        field,
        limit: 50,
      }),
  })
}

function nameOf(asked: Asked): string {
  return JSON.stringify(asked)
}
