// Pages and totals of filters without a text. A filter is a choice of combinations; each has its
// entries in order, and counters by blocks of sequences and by hours, so that only what lies
// between two counters is ever counted one by one. A filter that names no project is a choice of
// classes, of which a workspace has sixteen at most, however many projects it has.

import type { DatabaseSync } from "node:sqlite"
import { systemProject } from "../search/searchable-fields.ts"
import type { Instant, Wanted } from "../search/search.ts"
import { anyProject } from "./search-counters.ts"
import { blockOf, blockSequences, hourMs, hourOf, placeOf, sequenceOf } from "./search-places.ts"

interface Combination {
  readonly number: number
  readonly entries: number
  readonly first: number
  readonly last: number
}

/** Sequences, both included. */
export interface Bounds {
  readonly first: number
  readonly last: number
}

/** From one instant up to, and without, another. */
interface Times {
  readonly from: Instant
  readonly to: Instant
}

/** What is chosen of one combination: some of its entries within bounds. */
interface Choice {
  readonly combination: number
  readonly bounds: Bounds
  readonly entries: number
}

interface Choices {
  readonly choices: readonly Choice[]
  readonly total: number
}

/** Which of its two combinations an entry is found by; a column of `filed`. */
type Column = "combination" | "class"

/** Later than every year that has four digits, and earlier. */
const endOfTime = { ms: 2 ** 52, ns: 0 }
const startOfTime = { ms: -(2 ** 52), ns: 0 }

/**
 * Up to so many entries are found by their times and sorted; of more, one in a hundred of a
 * million, it is quicker to look on by sequence.
 */
const sortedMax = 8192

export function createFilters(database: DatabaseSync) {
  const chosen = combinationsOf(database)
  const asked = { combination: askedBy(database, "combination"), class: askedBy(database, "class") }

  return {
    /** Newest first, at most `limit`. */
    find(
      number: number,
      wanted: Wanted,
      bounds: Bounds,
      before: number,
      limit: number,
    ): { sequences: readonly number[]; total: number } {
      const times = timesOf(wanted)
      const { count, pages } = asked[wanted.projectIds === undefined ? "class" : "combination"]
      const { choices, total } = count(number, chosen(number, wanted), bounds, times)
      const open = choices.filter((choice) => choice.bounds.first < before)
      if (open.length === 0 || total === 0) return { sequences: [], total }
      const below = { first: bounds.first, last: Math.min(bounds.last, before - 1) }
      const sequences =
        times !== undefined && total <= sortedMax
          ? pages.byTime(number, open, below, times, limit)
          : isQuickerBySequence(open, total, below)
            ? pages.bySequence(number, open, below, times, limit)
            : pages.merged(number, open, below, times, limit)
      return { sequences, total }
    },
  }
}

function askedBy(database: DatabaseSync, column: Column) {
  return { count: createCounters(database, column), pages: createPages(database, column) }
}

/**
 * Looking through everything reads one entry for each that it passes; merging reads a page of every
 * combination.
 */
function isQuickerBySequence(
  choices: readonly Choice[],
  total: number,
  { first, last }: Bounds,
): boolean {
  return choices.length > 8 && last - first < total * choices.length
}

export function timesOf({ from, to }: Wanted): Times | undefined {
  return from === undefined && to === undefined
    ? undefined
    : { from: from ?? startOfTime, to: to ?? endOfTime }
}

function combinationsOf(database: DatabaseSync) {
  const columns =
    "number, lane, is_visible, is_system, entries, first_sequence, last_sequence FROM combinations WHERE workspace = ?"
  const classes = database.prepare(`SELECT ${columns} AND project = '${anyProject}'`)
  const ofProjects = database.prepare(
    `SELECT ${columns} AND project IN (SELECT value FROM json_each(?))`,
  )
  return (number: number, { projectIds, system, lane, userVisible }: Wanted): Combination[] => {
    // The service's own entries stand beside those of every project that is asked for.
    const projects =
      projectIds === undefined || system === "without" ? projectIds : [...projectIds, systemProject]
    const rows =
      projects === undefined
        ? classes.iterate(number)
        : ofProjects.iterate(number, JSON.stringify(projects))
    const found: Combination[] = []
    for (const row of rows) {
      const isSystem = row["is_system"] === 1
      const matches =
        (system === "with" || isSystem === (system === "only")) &&
        (lane === undefined || row["lane"] === lane) &&
        (userVisible === undefined || (row["is_visible"] === 1) === userVisible)
      if (!matches) continue
      const [first, last] = [Number(row["first_sequence"]), Number(row["last_sequence"])]
      found.push({ number: Number(row["number"]), entries: Number(row["entries"]), first, last })
    }
    return found
  }
}

/** Counts what is chosen, exactly, and narrows the bounds where that costs nothing. */
function createCounters(database: DatabaseSync, column: Column) {
  const rank = createRank(database, column)
  const countHours = createHours(database, column)
  return (
    number: number,
    combinations: readonly Combination[],
    bounds: Bounds,
    times: Times | undefined,
  ): Choices => {
    const choices: Choice[] = []
    let total = 0
    for (const combination of combinations) {
      const within = {
        first: Math.max(bounds.first, combination.first),
        last: Math.min(bounds.last, combination.last),
      }
      if (within.first > within.last) continue
      const choice =
        times === undefined
          ? {
              bounds: within,
              entries:
                rank(number, combination, within.last + 1) -
                rank(number, combination, within.first),
            }
          : countHours(number, combination, within, times)
      if (choice.entries === 0) continue
      total += choice.entries
      choices.push({ combination: combination.number, ...choice })
    }
    return { choices, total }
  }
}

/** How many entries of a combination stand before a sequence. */
function createRank(database: DatabaseSync, column: Column) {
  const nextBlock = database.prepare(
    "SELECT block, before FROM blocks WHERE combination = ? AND block >= ? ORDER BY block LIMIT 1",
  )
  const between = database.prepare(
    `SELECT count(*) AS entries FROM filed INDEXED BY filed_by_${column} WHERE ${column} = ? AND place >= ? AND place < ?`,
  )
  return (number: number, combination: Combination, sequence: number): number => {
    if (sequence <= combination.first) return 0
    if (sequence > combination.last) return combination.entries
    const block = blockOf(sequence)
    const row = nextBlock.get(combination.number, block)
    if (row === undefined) return combination.entries
    const before = Number(row["before"])
    if (Number(row["block"]) > block) return before
    const rest = between.get(
      combination.number,
      placeOf(number, block * blockSequences),
      placeOf(number, sequence),
    )
    return before + Number(rest?.["entries"])
  }
}

/**
 * Whole hours are taken from their counters; those that the times or the bounds cut are counted.
 */
function createHours(database: DatabaseSync, column: Column) {
  const sums = database.prepare(
    `SELECT coalesce(sum(entries) FILTER (WHERE hour > ?2 AND hour < ?3 AND first_sequence >= ?4 AND last_sequence <= ?5), 0) AS whole,
            min(first_sequence) AS first, max(last_sequence) AS last
     FROM hours WHERE combination = ?1 AND hour BETWEEN ?2 AND ?3 AND first_sequence <= ?5 AND last_sequence >= ?4`,
  )
  const parts = database.prepare(
    `SELECT hour FROM hours WHERE combination = ?1 AND hour BETWEEN ?2 AND ?3 AND first_sequence <= ?5 AND last_sequence >= ?4
       AND NOT (hour > ?2 AND hour < ?3 AND first_sequence >= ?4 AND last_sequence <= ?5)`,
  )
  const one = database.prepare(
    `SELECT count(*) AS entries FROM filed INDEXED BY filed_by_${column}_time WHERE ${column} = ? AND occurred_ms >= ? AND occurred_ms < ?
       AND (occurred_ms, occurred_ns) >= (?, ?) AND (occurred_ms, occurred_ns) < (?, ?) AND place BETWEEN ? AND ?`,
  )
  return (
    number: number,
    { number: combination }: Combination,
    { first, last }: Bounds,
    { from, to }: Times,
  ) => {
    const asked = [combination, hourOf(from.ms), hourOf(to.ms), first, last] as const
    const sum = sums.get(...asked)
    let entries = Number(sum?.["whole"])
    for (const row of parts.iterate(...asked)) {
      const startMs = Number(row["hour"]) * hourMs
      const within = [
        startMs,
        startMs + hourMs,
        from.ms,
        from.ns,
        to.ms,
        to.ns,
        placeOf(number, first),
        placeOf(number, last),
      ] as const
      entries += Number(one.get(combination, ...within)?.["entries"])
    }
    return {
      entries,
      bounds: {
        first: Math.max(first, Number(sum?.["first"])),
        last: Math.min(last, Number(sum?.["last"])),
      },
    }
  }
}

function createPages(database: DatabaseSync, column: Column) {
  const timed = "AND (occurred_ms, occurred_ns) >= (?, ?) AND (occurred_ms, occurred_ns) < (?, ?)"
  const inOrder = (times: string) =>
    database.prepare(
      `SELECT place FROM filed INDEXED BY filed_by_${column} WHERE ${column} = ? AND place BETWEEN ? AND ? ${times} ORDER BY place DESC LIMIT ?`,
    )
  const through = (times: string) =>
    database.prepare(
      `SELECT place FROM filed NOT INDEXED WHERE place BETWEEN ? AND ? AND ${column} IN (SELECT value FROM json_each(?)) ${times} ORDER BY place DESC LIMIT ?`,
    )
  const [ordered, orderedTimed, all, allTimed] = [
    inOrder(""),
    inOrder(timed),
    through(""),
    through(timed),
  ]
  const byTime = database.prepare(
    `SELECT place FROM filed INDEXED BY filed_by_${column}_time WHERE ${column} = ? AND occurred_ms BETWEEN ? AND ? ${timed} AND place BETWEEN ? AND ? ORDER BY place DESC LIMIT ?`,
  )
  const instants = ({ from, to }: Times) => [from.ms, from.ns, to.ms, to.ns] as const

  return {
    byTime(
      number: number,
      choices: readonly Choice[],
      { first, last }: Bounds,
      times: Times,
      limit: number,
    ): number[] {
      const within = [
        ...instants(times),
        placeOf(number, first),
        placeOf(number, last),
        limit,
      ] as const
      const rows = choices.flatMap(({ combination }) =>
        byTime.all(combination, times.from.ms, times.to.ms, ...within),
      )
      return newest(rows.map(sequenceIn), limit)
    },
    bySequence(
      number: number,
      choices: readonly Choice[],
      bounds: Bounds,
      times: Times | undefined,
      limit: number,
    ): number[] {
      const first = Math.max(
        bounds.first,
        Math.min(...choices.map((choice) => choice.bounds.first)),
      )
      const last = Math.min(bounds.last, Math.max(...choices.map((choice) => choice.bounds.last)))
      const within = [
        placeOf(number, first),
        placeOf(number, last),
        JSON.stringify(choices.map(({ combination }) => combination)),
      ] as const
      const rows =
        times === undefined
          ? all.all(...within, limit)
          : allTimed.all(...within, ...instants(times), limit)
      return rows.map(sequenceIn)
    },
    /** Combinations that end below what has been found already have nothing to add. */
    merged(
      number: number,
      choices: readonly Choice[],
      bounds: Bounds,
      times: Times | undefined,
      limit: number,
    ): number[] {
      let found: number[] = []
      for (const { combination, bounds: own } of choices.toSorted(
        (a, b) => b.bounds.last - a.bounds.last,
      )) {
        const lowest = found.length < limit ? 0 : (found.at(-1) ?? 0)
        const [first, last] = [
          Math.max(bounds.first, own.first, lowest),
          Math.min(bounds.last, own.last),
        ]
        if (first > last) continue
        const within = [combination, placeOf(number, first), placeOf(number, last)] as const
        const rows =
          times === undefined
            ? ordered.all(...within, limit)
            : orderedTimed.all(...within, ...instants(times), limit)
        found = newest([...found, ...rows.map(sequenceIn)], limit)
      }
      return found
    },
  }
}

function sequenceIn({ place }: Readonly<Record<string, unknown>>): number {
  return sequenceOf(Number(place))
}

function newest(sequences: readonly number[], limit: number): number[] {
  return sequences.toSorted((a, b) => b - a).slice(0, limit)
}
