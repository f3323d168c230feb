// The rows of a list: loaded in pages from the newest on, and recomputed. Of rows that are far away
// the place alone is kept; they are asked for again when they are looked at.

import type { ListedEntry } from "@tallystick/client/wire"
import type { Refusal, Told } from "../../ask.ts"
import type { Recomputed } from "./recompute.ts"

export interface Row {
  readonly sequence: number
  readonly occurredAt: string
  /** Undefined while it is far away. */
  readonly entry: ListedEntry | undefined
  readonly state: Recomputed["state"] | "unchecked"
}

export interface RowPage {
  readonly events: readonly ListedEntry[]
  readonly total: number
  readonly hasMore: boolean
  /** Where the next page begins. */
  readonly nextCursor: number
}

interface RowsParts {
  /** Entries below a sequence, newest first; 0 begins at the newest. */
  readonly load: (cursor: number, limit: number) => Promise<Told<RowPage>>
  readonly recompute: (entries: readonly ListedEntry[]) => Promise<readonly Recomputed[]>
  /** After each change. */
  readonly changed: () => void
}

export interface Rows {
  readonly all: readonly Row[]
  readonly total: number
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly refusal: Refusal | undefined
  /** The first page. */
  begin(): Promise<void>
  older(): Promise<void>
  /** Asks for a row of which the place alone is known, or which is not sealed yet, and for those around it. */
  again(sequence: number): Promise<void>
  /** Puts newer ones in front; of those beyond `kept` the place alone stays. */
  prepend(entries: readonly ListedEntry[], kept: number): void
}

const pageRows = 100
/** A row with its entry takes some 2 kB. */
const keptRowsMax = 5000

export function createRows({ load, recompute, changed }: RowsParts): Rows {
  let all: readonly Row[] = []
  let total = 0
  let hasMore = false
  let nextCursor = 0
  let isLoading = false
  let refusal: Refusal | undefined
  let askedAgain: number | undefined
  async function page(cursor: number): Promise<void> {
    if (isLoading) return
    isLoading = true
    const told = await load(cursor, pageRows)
    isLoading = false
    refusal = told.ok ? undefined : told.refusal
    if (told.ok) {
      ;({ total, hasMore, nextCursor } = told.value)
      const newest = cursor === 0 ? [] : farAway(all)
      all = [...newest, ...told.value.events.map(rowOf)]
    }
    changed()
    if (told.ok) await check(told.value.events)
  }
  async function check(entries: readonly ListedEntry[]): Promise<void> {
    const found = await recompute(entries)
    merge(entries.map((entry, at) => ({ ...rowOf(entry), state: found[at]?.state ?? "unproven" })))
    changed()
  }
  /** Rows that are there already are replaced by these. */
  function merge(rows: readonly Row[]): void {
    const bySequence = new Map(rows.map((row) => [row.sequence, row]))
    all = all.map((row) => bySequence.get(row.sequence) ?? row)
  }
  return {
    get all() {
      return all
    },
    get total() {
      return total
    },
    get hasMore() {
      return hasMore
    },
    get isLoading() {
      return isLoading
    },
    get refusal() {
      return refusal
    },
    begin: () => page(0),
    older: () => page(nextCursor),
    async again(sequence) {
      if (askedAgain !== undefined) return
      askedAgain = sequence
      const told = await load(sequence + 1, pageRows)
      askedAgain = undefined
      if (!told.ok) return
      merge(told.value.events.map(rowOf))
      await check(told.value.events)
    },
    prepend(entries, kept) {
      const newest = all[0]?.sequence ?? 0
      const added = entries.filter((entry) => entry.sequence > newest)
      total += added.length
      all = [...added.map(rowOf), ...all].map((row, at) => (at < kept ? row : withoutEntry(row)))
      changed()
    },
  }
}

function rowOf({ proof: _, disclosures: __, ...entry }: ListedEntry): Row {
  const { sequence, occurredAt } = entry
  return { sequence, occurredAt, entry, state: "unchecked" }
}

/** Who scrolls down leaves the first ones behind. */
function farAway(rows: readonly Row[]): readonly Row[] {
  const far = rows.length - keptRowsMax
  return far <= 0 ? rows : rows.map((row, at) => (at < far ? withoutEntry(row) : row))
}

function withoutEntry(row: Row): Row {
  return row.entry === undefined ? row : { ...row, entry: undefined }
}
