// `tallystick events list`, `values` and `timeline`: lists and counts entries.

import type { EventsAsked, EventsPage, FieldValues, Timeline } from "@tallystick/client"
import { queryFields } from "@tallystick/client/grammar"
import { printable } from "@tallystick/proof"
import { StartError } from "../error.ts"
import { shownEntry } from "./entry-fields.ts"
import { textOf } from "../query/entry-columns.ts"
import { rowPrinter, type Field, type Format, type Shown } from "./rows-output.ts"
import { patience, requireAnswer, userServiceOf, type AskingTerminal } from "./service-calls.ts"
import type { Terminal } from "./terminal.ts"

type ListTerminal = Terminal & AskingTerminal

/** The filter: the API's parameters under their names. */
export type Filter = Omit<EventsAsked, "cursor" | "limit" | "include">

/** `broken`: an entry differs from what was recorded. */
const exitCodes = { good: 0, broken: 3 } as const

/** With the `limit` Infinity it lists all entries. */
export async function listEvents(
  terminal: ListTerminal,
  workspaceId: string,
  filter: Filter,
  { limit, format }: { readonly limit: number; readonly format: Format },
): Promise<number> {
  const { ask } = userServiceOf(terminal)
  const print = rowPrinter(terminal, format, shownEntry)
  let shown = 0
  let code: number = exitCodes.good
  for (let cursor = 0; ;) {
    const asked = { ...filter, cursor, limit: Math.min(limit - shown, pageLimitMax) }
    const isFirst = cursor === 0
    const page = await ask(({ events }) => events.list(workspaceId, asked, isFirst ? {} : patience))
    requireAnswer(Array.isArray(page.events))
    print(page.events)
    shown += page.events.length
    for (const { sequence, integrity } of page.events) {
      if (integrity !== "broken") continue
      code = exitCodes.broken
      terminal.remark(`tallystick: entry ${sequence} is broken: it is not what was recorded\n`)
    }
    if (!page.hasMore || shown >= limit) {
      const remark = remarkOn(page, shown, filter)
      if (remark !== undefined) terminal.remark(`tallystick: ${remark}\n`)
      return code
    }
    // Otherwise the loop might never end.
    if (page.nextCursor < 1 || (!isFirst && page.nextCursor >= cursor))
      throw new StartError("the service's next page does not go further back than the one before")
    cursor = page.nextCursor
  }
}

/** The API's limit. */
const pageLimitMax = 100

/** A hint for the reader about entries that are not shown. */
function remarkOn(
  { hasMore, total }: EventsPage,
  shown: number,
  { query = "", storage }: Filter,
): string | undefined {
  if (hasMore) return `${shown} of ${total} entries; --limit or --all shows more`
  if (shown > 0) return undefined
  const unknown = unknownFieldIn(query)
  if (unknown !== undefined)
    return `no entry matches; ${printable(unknown)} is no field of a search, so it was searched as text`
  const archive = storage === undefined ? "; --storage all looks into the archive, too" : ""
  return `no entry matches${archive}`
}

/** The first name before a colon, outside quotation marks, that is no field. */
function unknownFieldIn(query: string): string | undefined {
  const names = query.replace(/"[^"]*"?/g, "").matchAll(/(?<=^|\s|-)([^\s:-]+):/g)
  const known: readonly string[] = queryFields
  for (const [, name = ""] of names)
    if (!known.includes(name) && !name.startsWith("metadata.")) return name
  return undefined
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
  requireAnswer(Array.isArray(values))
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
  requireAnswer(Array.isArray(buckets))
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
