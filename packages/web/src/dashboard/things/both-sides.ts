// The history of one thing: what it did and what was done to it are two searches, whose pages are
// put together in the order of the ledger.

import { parseQuery } from "@tallystick/client/grammar"
import type { EventsPage, ListedEntry, Party } from "@tallystick/client/wire"
import { askedTogether, type Told } from "../../ask.ts"
import { wholeChain, type Desk } from "../desk.ts"
import type { Row, RowPage } from "../events/rows.ts"

export interface Thing {
  /** Absent: any type with this id. */
  readonly type?: string
  readonly id: string
}

export type Side = "did" | "done"

interface Merged {
  readonly events: readonly ListedEntry[]
  /** Entries about something else, which the same searches found. */
  readonly others: readonly number[]
  /** Of both searches, with such others. */
  readonly total: number
  readonly hasMore: boolean
  readonly nextCursor: number
}

/** The default types of an activity link. */
export const personTypes: readonly string[] = [
  "user",
  "subject",
  "person",
  "member",
  "customer",
  "account",
]

export function sidesOf(side: string | null): readonly Side[] {
  return side === "did" || side === "done" ? [side] : ["did", "done"]
}

/**
 * Everything that the member may read about it, including the archive and the service's own
 * entries.
 */
export function loadHistory(
  { get }: Pick<Desk, "get">,
  thing: Thing,
  sides: readonly Side[],
  isProven = true,
) {
  const asked = { ...wholeChain, include: isProven ? "proof" : undefined }
  const found = new Set<number>()
  const others = new Set<number>()
  return async (cursor: number, limit: number): Promise<Told<RowPage>> => {
    for (let from = cursor, pages = 1; ; pages++) {
      const told = await pageOfBoth(thing, sides, (query) =>
        get<EventsPage>(["events"], { ...asked, query, cursor: from, limit }),
      )
      if (!told.ok) return told
      const { value } = told
      for (const { sequence } of value.events) found.add(sequence)
      for (const sequence of value.others) others.add(sequence)
      if (value.events.length > 0 || !value.hasMore || pages === emptyPagesMax) {
        // Only what was read is known to be about it.
        const total = value.hasMore ? value.total - others.size : found.size
        return { ok: true, value: { ...value, total, isTotalBound: value.hasMore } }
      }
      from = value.nextCursor
    }
  }
}

/** Pages without an entry about it that are passed over before the reader is asked. */
const emptyPagesMax = 10

/** Its newest name. */
export function newestOf(thing: Thing, rows: readonly Row[]): Party | undefined {
  return rows
    .flatMap(({ entry }) => (entry === undefined ? [] : partiesOf(thing, entry)))
    .find(({ name, email }) => name !== undefined || email !== undefined)
}

/** `ask` returns the matches of a search below the cursor. */
export async function pageOfBoth(
  thing: Thing,
  sides: readonly Side[],
  ask: (query: string) => Promise<Told<EventsPage>>,
): Promise<Told<Merged>> {
  const told = await askedTogether(queriesOf(thing, sides).map(ask))
  return told.ok ? { ok: true, value: merged(thing, told.value) } : told
}

/** Entries below the end of an incomplete page must wait for its next page. */
function merged(thing: Thing, pages: readonly EventsPage[]): Merged {
  const end = Math.max(0, ...pages.filter((page) => page.hasMore).map((page) => page.nextCursor))
  const found = new Map(
    pages.flatMap(({ events }) => events.map((entry) => [entry.sequence, entry] as const)),
  )
  const all = [...found.values()].filter(({ sequence }) => sequence >= end)
  return {
    events: all
      .filter((entry) => isAbout(thing, entry))
      .toSorted((one, other) => other.sequence - one.sequence),
    others: all.filter((entry) => !isAbout(thing, entry)).map(({ sequence }) => sequence),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    hasMore: end > 0,
    nextCursor: end,
  }
}

/** What it did to itself is asked for once, so that the totals of both can be added. */
function queriesOf(thing: Thing, sides: readonly Side[]): readonly string[] {
  const [first = "", second] = sides.map((side) => queryOf(thing, side))
  if (second === undefined) return [first]
  const others = `${second} -${queryOf({ id: thing.id }, "did")}`
  return [first, "problem" in parseQuery(others) ? second : others]
}

export function queryOf({ type, id }: Thing, side: Side): string {
  const ofType = type === undefined ? "" : ` type:${quoted(type)}`
  return `${side === "did" ? "actor" : "target"}:${quoted(id)}${ofType}`
}

/** No search can name a quotation mark: up to there, it finds what begins so. */
export function quoted(text: string): string {
  const [start, ...rest] = text.split('"')
  return rest.length === 0 ? `"${text}"` : `"${start}"*`
}

/** A search also finds names and addresses, and ignores types. */
function isAbout(thing: Thing, entry: ListedEntry): boolean {
  return partiesOf(thing, entry).length > 0
}

export function partiesOf({ type, id }: Thing, { actor, target }: ListedEntry): readonly Party[] {
  return [actor, target].filter(
    (party) => party.id === id && (type === undefined || party.type === type),
  )
}
