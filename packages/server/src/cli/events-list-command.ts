// `tallystick events list`, `values` and `timeline`: what a ledger has, and how much of what.

import type {
  EventsAsked,
  EventsPage,
  FieldValues,
  ListedEntry,
  Timeline,
} from "@tallystick/client"
import { StartError } from "../error.ts"
import { shownEntry } from "./entry-fields.ts"
import {
  rowPrinter,
  textOf,
  type Field,
  type Format,
  type PrintRows,
  type Shown,
} from "./rows-output.ts"
import { userServiceOf, type AskingTerminal } from "./service-calls.ts"
import type { Terminal } from "./terminal.ts"

type ListTerminal = Terminal & AskingTerminal

/** Which entries: the options of the API by their names. */
export type Filter = Omit<EventsAsked, "cursor" | "limit" | "include">

/** `broken`: an entry is not what was recorded. */
const exitCodes = { good: 0, broken: 3 } as const

/** `limit`: Infinity for all. */
export async function listEvents(
  terminal: ListTerminal,
  workspaceId: string,
  filter: Filter,
  { limit, format }: { readonly limit: number; readonly format: Format },
): Promise<number> {
  const print = rowPrinter(terminal, format, shownEntry)
  const broken = await userServiceOf(terminal).ask(({ events }) =>
    printPages(terminal, print, limit, (cursor, pageLimit) =>
      events.list(workspaceId, { ...filter, cursor, limit: pageLimit }),
    ),
  )
  return broken === 0 ? exitCodes.good : exitCodes.broken
}

/** The API's. */
const pageLimitMax = 100

type ReadPage = (cursor: number, limit: number) => Promise<EventsPage>

/** How many entries are broken. */
async function printPages(
  { remark }: ListTerminal,
  print: PrintRows<ListedEntry>,
  limit: number,
  read: ReadPage,
): Promise<number> {
  let shown = 0
  let broken = 0
  for (let cursor = 0; ;) {
    const page = await read(cursor, Math.min(limit - shown, pageLimitMax))
    print(page.events)
    shown += page.events.length
    for (const { sequence, integrity } of page.events) {
      if (integrity !== "broken") continue
      broken += 1
      remark(`tallystick: entry ${sequence} is broken: it is not what was recorded\n`)
    }
    if (!page.hasMore || shown >= limit) {
      if (page.hasMore)
        remark(`tallystick: ${shown} of ${page.total} entries; --limit or --all shows more\n`)
      else if (shown === 0) remark("tallystick: no entry matches\n")
      return broken
    }
    // Otherwise it might never end.
    if (page.nextCursor < 1 || (cursor !== 0 && page.nextCursor >= cursor))
      throw new StartError("the service's next page does not go further back than the one before")
    cursor = page.nextCursor
  }
}

// Counts ------------------------------------------------------------------------------------------

export async function listValues(
  terminal: ListTerminal,
  workspaceId: string,
  asked: Filter & { readonly field: string; readonly limit: number },
  format: Format,
): Promise<void> {
  const { values } = await userServiceOf(terminal).ask(({ events }) =>
    events.values(workspaceId, asked),
  )
  rowPrinter(terminal, format, shownValue)(values)
}

const shownValue = shownAs<FieldValues["values"][number]>([
  ["value", ({ value }) => value],
  ["count", ({ count }) => count],
])

type TimelineBy = "lane" | "project"

export async function showTimeline(
  terminal: ListTerminal,
  workspaceId: string,
  asked: Filter & {
    readonly from: string
    readonly to: string
    readonly buckets: number
    readonly by: TimelineBy
  },
  format: Format,
): Promise<void> {
  const { buckets } = await userServiceOf(terminal).ask(({ events }) =>
    events.timeline(workspaceId, asked),
  )
  const groups = [...new Set(buckets.flatMap(({ counts }) => Object.keys(counts)))].toSorted()
  const shown = shownAs<Timeline["buckets"][number]>([
    ["start", ({ start }) => start],
    ["total", ({ total }) => total],
    ...groups.map((group): Field<Timeline["buckets"][number]> => [
      group,
      ({ counts }) => counts[group] ?? 0,
    ]),
  ])
  rowPrinter(terminal, format, shown)(buckets)
}

/** The same columns in a table and in CSV. */
function shownAs<Row>(fields: readonly Field<Row>[]): Shown<Row> {
  return {
    csv: fields,
    table: fields.map(([name, valueOf]) => ({
      title: name.toUpperCase(),
      cellOf: (row: Row) => textOf(valueOf(row)),
    })),
  }
}
