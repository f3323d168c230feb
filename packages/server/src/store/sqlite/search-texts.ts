// Pages and totals of what has a text or a subject. The full-text index gives places in order. A
// total is counted once: what is filed later can only be added to it.

import { hash } from "node:crypto"
import type { DatabaseSync } from "node:sqlite"
import { LedgerError } from "../../error.ts"
import type { Wanted } from "../search/search.ts"
import { createDictionary } from "./search-dictionary.ts"
import { timesOf, type Bounds } from "./search-filters.ts"
import { matchOf } from "./search-match.ts"
import { placeOf, sequenceOf } from "./search-places.ts"

/**
 * How far below a page's edge is looked in the same pass that counts: a text that every fortieth
 * entry has fills the largest page.
 */
const windowSequences = 4096
/**
 * Looked through in one step: some ten milliseconds where every entry has all that is asked for.
 * Nothing can interrupt a step.
 */
const stepSequences = 2 ** 17
/** Totals that are remembered: a few hundred bytes each. */
const totalsMax = 512

interface Counted {
  readonly upTo: number
  readonly total: number
}

export function createTexts(database: DatabaseSync, listBytesMax: number) {
  const dictionary = createDictionary(database)
  const totals = new Map<string, Counted>()
  const run = createStatements(database)

  return {
    /**
     * Newest first, at most `limit`. Between two steps others may have their turn: what stands up
     * to `bounds.last` does not change.
     */
    *find(
      number: number,
      wanted: Wanted,
      bounds: Bounds,
      before: number,
      limit: number,
    ): Generator<undefined, Found> {
      const match = matchOf(number, wanted, dictionary)
      if (match === undefined) return { sequences: [], total: 0 }
      if (match.isGathered && dictionary.listBytes(match.ranges) > listBytesMax) throw tooBroad()
      const key = hash("sha256", `${number} ${JSON.stringify(wanted)}`, "base64")
      let counted = totals.get(key) ?? { upTo: bounds.first - 1, total: 0 }
      const count = (upTo: number, entries: number): void => {
        counted = { upTo, total: counted.total + entries }
        remember(totals, key, counted)
      }
      const ask = { number, wanted, expression: match.expression }
      const found: number[] = []
      /** From here down nothing has been looked at for the page. */
      let open = Math.min(bounds.last, before - 1)
      const isTurnOver = createTurn()
      if (match.isGathered && counted.upTo < bounds.last) {
        isTurnOver(stepSequences)
        const page = { first: Math.max(bounds.first, before - windowSequences), last: open }
        const { entries, sequences } = run.countAndPage(
          ask,
          { first: counted.upTo + 1, last: bounds.last },
          page,
        )
        count(bounds.last, entries)
        found.push(...sequences.slice(0, limit))
        open = Math.min(open, page.first - 1)
      }
      const step = match.isGathered ? Infinity : stepSequences
      while (counted.upTo < bounds.last) {
        const range = { first: counted.upTo + 1, last: Math.min(bounds.last, counted.upTo + step) }
        if (isTurnOver(range.last - counted.upTo)) yield
        count(range.last, run.count(ask, range))
      }
      const most = Math.min(limit, counted.total)
      while (found.length < most && open >= bounds.first) {
        const range = { first: Math.max(bounds.first, open - step + 1), last: open }
        if (isTurnOver(open - range.first + 1)) yield
        found.push(...run.page(ask, range, most - found.length))
        open = range.first - 1
      }
      return { sequences: found, total: counted.total }
    },
  }
}

interface Found {
  readonly sequences: readonly number[]
  readonly total: number
}

/** Says, before so many sequences are looked through, whether others come first. */
function createTurn(): (sequences: number) => boolean {
  let looked = 0
  return (sequences) => {
    const isOver = looked > 0 && looked + sequences > stepSequences
    looked = isOver ? sequences : looked + sequences
    return isOver
  }
}

function tooBroad(): LedgerError {
  return new LedgerError(
    "invalid_field",
    "query asks for starts of words that too many entries have; write more of each word, or name fewer of them",
  )
}

interface Ask {
  readonly number: number
  readonly wanted: Wanted
  readonly expression: string
}

function createStatements(database: DatabaseSync) {
  const plain =
    "FROM search AS s WHERE search MATCH ?1 AND s.rowid >= CAST(?2 AS INTEGER) AND s.rowid <= CAST(?3 AS INTEGER)"
  const timed = `FROM search AS s CROSS JOIN filed AS f ON f.place = s.rowid WHERE search MATCH ?1 AND s.rowid >= CAST(?2 AS INTEGER) AND s.rowid <= CAST(?3 AS INTEGER)
    AND (f.occurred_ms, f.occurred_ns) >= (?4, ?5) AND (f.occurred_ms, f.occurred_ns) < (?6, ?7)`
  const pair = (make: (from: string, at: number) => string) => ({
    plain: database.prepare(make(plain, 4)),
    timed: database.prepare(make(timed, 8)),
  })
  const counts = pair((from) => `SELECT count(*) AS entries ${from}`)
  const pages = pair(
    (from, at) => `SELECT s.rowid AS place ${from} ORDER BY s.rowid DESC LIMIT ?${at}`,
  )
  // One pass for both, because what begins with a prefix is gathered anew by every pass.
  const together = pair(
    (from, at) => `SELECT count(*) FILTER (WHERE s.rowid BETWEEN ?${at} AND ?${at + 1}) AS entries,
      json_group_array(s.rowid) FILTER (WHERE s.rowid BETWEEN ?${at + 2} AND ?${at + 3}) AS places ${from}`,
  )
  const given = (
    { number, wanted, expression }: Ask,
    { first, last }: Bounds,
  ): [which: "plain" | "timed", given: (string | number)[]] => {
    const times = timesOf(wanted)
    const asked = [expression, placeOf(number, first), placeOf(number, last)]
    return times === undefined
      ? ["plain", asked]
      : ["timed", [...asked, times.from.ms, times.from.ns, times.to.ms, times.to.ns]]
  }

  return {
    count(ask: Ask, bounds: Bounds): number {
      const [which, asked] = given(ask, bounds)
      return Number(counts[which].get(...asked)?.["entries"])
    },
    page(ask: Ask, bounds: Bounds, limit: number): number[] {
      const [which, asked] = given(ask, bounds)
      return pages[which].all(...asked, limit).map(({ place }) => sequenceOf(Number(place)))
    },
    countAndPage(
      ask: Ask,
      counting: Bounds,
      page: Bounds,
    ): { readonly entries: number; readonly sequences: number[] } {
      const { number } = ask
      const [which, asked] = given(ask, {
        first: Math.min(counting.first, page.first),
        last: Math.max(counting.last, page.last),
      })
      const edges = [counting.first, counting.last, page.first, page.last].map((sequence) =>
        placeOf(number, Math.max(sequence, 0)),
      )
      const row = together[which].get(...asked, ...edges)
      // A list of places is what the statement makes.
      const places = JSON.parse(String(row?.["places"])) as number[]
      return {
        entries: Number(row?.["entries"]),
        sequences: places.map(sequenceOf).toSorted((a, b) => b - a),
      }
    },
  }
}

/** The one that was not asked for longest makes room. */
function remember(totals: Map<string, Counted>, key: string, counted: Counted): void {
  totals.delete(key)
  totals.set(key, counted)
  if (totals.size <= totalsMax) return
  const [oldest] = totals.keys()
  if (oldest !== undefined) totals.delete(oldest)
}
