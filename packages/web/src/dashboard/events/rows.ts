// The rows of a list: loaded in pages from the newest on, and recomputed. Of rows that are far away
// only the sequence is kept; they are loaded again when they become visible.

import type { ListedEntry } from "@tallystick/client/wire"
import type { Refusal, Told } from "../../ask.ts"
import { timeOf } from "./gone-content.ts"
import type { Recomputed } from "./recompute.ts"

export interface Row {
  readonly sequence: number
  readonly occurredAt: string
  /** Undefined while the row is far away. */
  readonly entry: ListedEntry | undefined
  readonly state: Recomputed["state"] | "unchecked"
}

export interface RowPage {
  readonly events: readonly ListedEntry[]
  readonly total: number
  /** There may be fewer than the total. */
  readonly isTotalBound?: boolean
  readonly hasMore: boolean
  readonly nextCursor: number
}

interface RowsParts {
  /** Entries below a sequence, newest first; 0 begins at the newest. */
  readonly load: (cursor: number, limit: number) => Promise<Told<RowPage>>
  readonly recompute: (entries: readonly ListedEntry[]) => Promise<readonly Recomputed[]>
  /** The rows of the same list when it was left. */
  readonly left?: RowsState
  readonly changed: () => void
}

interface RowsState {
  readonly all: readonly Row[]
  readonly total: number
  readonly isTotalBound: boolean
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly refusal: Refusal | undefined
}

export interface Rows extends RowsState {
  begin(): Promise<void>
  older(): Promise<void>
  /** Loads a row that is far away, or that no checkpoint covers, and those around it. */
  again(sequence: number): Promise<void>
  /** Adds newer rows in front; of rows beyond `kept` only the sequence stays. */
  prepend(entries: readonly ListedEntry[], kept: number): void
}

const pageRows = 100
/** Rows in memory: each takes some 2 kB. */
const keptRowsMax = 5000

export function createRows({ load, recompute, left, changed }: RowsParts): Rows {
  const now: Mutable<RowsState> = { ...(left ?? nothing), isLoading: false, refusal: undefined }
  let nextCursor = now.all.at(-1)?.sequence ?? 0
  let askedAgain: number | undefined
  /** Adds a page below the existing rows, or loads the first one. One request at a time. */
  async function add(cursor: number): Promise<void> {
    if (now.isLoading) return
    now.isLoading = true
    if (now.all.length > 0) changed()
    const told = await load(cursor, pageRows)
    now.isLoading = false
    now.refusal = told.ok ? undefined : told.refusal
    if (!told.ok) return changed()
    const { events, total, isTotalBound = false, hasMore } = told.value
    nextCursor = told.value.nextCursor
    Object.assign(now, { total, isTotalBound, hasMore })
    now.all = [...farAway(cursor === 0 ? [] : now.all), ...events.map(rowOf)]
    changed()
    await check(events)
  }
  async function check(entries: readonly ListedEntry[]): Promise<void> {
    const found = await recompute(entries)
    const checked = entries.map((entry, at) => checkedRow(entry, found[at]))
    now.all = merged(now.all, checked)
    changed()
  }
  async function again(sequence: number): Promise<void> {
    if (askedAgain !== undefined) return
    askedAgain = sequence
    const told = await load(sequence + 1, pageRows)
    askedAgain = undefined
    if (!told.ok) return
    now.all = merged(now.all, told.value.events.map(rowOf))
    await check(told.value.events)
  }
  function prepend(entries: readonly ListedEntry[], kept: number): void {
    const newest = now.all[0]?.sequence ?? 0
    const added = entries.filter((entry) => entry.sequence > newest)
    now.total += added.length
    now.all = [...added.map(rowOf), ...now.all].map((row, at) =>
      at < kept ? row : withoutEntry(row),
    )
    forgetLast()
    changed()
  }
  /** A page that follows for days keeps no row for each entry. They come again as older ones. */
  function forgetLast(): void {
    // A page under way follows the last row.
    if (now.isLoading || now.all.length <= keptRowsMax) return
    Object.assign(now, { all: now.all.slice(0, keptRowsMax), hasMore: true })
    nextCursor = now.all.at(-1)?.sequence ?? 0
  }
  return Object.assign(now, {
    begin: () => (left === undefined ? add(0) : Promise.resolve().then(changed)),
    older: () => add(nextCursor),
    again,
    prepend,
  })
}

function merged(all: readonly Row[], others: readonly Row[]): readonly Row[] {
  const bySequence = new Map(others.map((row) => [row.sequence, row]))
  return all.map((row) => bySequence.get(row.sequence) ?? row)
}

const nothing: RowsState = {
  all: [],
  total: 0,
  isTotalBound: false,
  hasMore: false,
  isLoading: false,
  refusal: undefined,
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

function rowOf({ proof: _, disclosures: __, ...entry }: ListedEntry): Row {
  return { sequence: entry.sequence, occurredAt: timeOf(entry), entry, state: "unchecked" }
}

function checkedRow(entry: ListedEntry, found: Recomputed | undefined): Row {
  return { ...rowOf(entry), state: found?.state ?? "unproven" }
}

/** Drops the entries of the first rows while the reader scrolls down. */
function farAway(rows: readonly Row[]): readonly Row[] {
  const far = rows.length - keptRowsMax
  return far <= 0 ? rows : rows.map((row, at) => (at < far ? withoutEntry(row) : row))
}

function withoutEntry(row: Row): Row {
  return row.entry === undefined ? row : { ...row, entry: undefined }
}
