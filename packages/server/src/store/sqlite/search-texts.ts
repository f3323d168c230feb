// Pages and totals of what has a text or a subject. The full-text index gives places in order. A total is counted once: what is filed
// later can only be added to it.

import { hash } from "node:crypto"
import type { DatabaseSync } from "node:sqlite"
import type { Wanted } from "../search.ts"
import { timesOf, type Bounds } from "./search-filters.ts"
import { matchOf, type Dictionary } from "./search-match.ts"
import { placeOf, sequenceOf } from "./search-places.ts"

/** How far below a page's edge is looked in the same pass that counts: a text that every fortieth entry has fills the largest page. */
const windowSequences = 4096
/** Tokens that are asked for in place of a prefix. To find them out takes some ten microseconds each. */
const expandedMax = 32
/** Totals that are remembered: a few hundred bytes each. */
const totalsMax = 512

interface Counted {
  readonly upTo: number
  readonly total: number
}

export function createTexts(database: DatabaseSync) {
  const dictionary = dictionaryOf(database)
  const totals = new Map<string, Counted>()
  const run = createStatements(database)

  return {
    /** Newest first, at most `limit`. */
    find(number: number, wanted: Wanted, bounds: Bounds, before: number, limit: number): { sequences: readonly number[]; total: number } {
      const match = matchOf(number, wanted, dictionary)
      const key = hash("sha256", `${number} ${JSON.stringify(wanted)}`, "base64")
      const counted = totals.get(key) ?? { upTo: bounds.first - 1, total: 0 }
      const top = Math.min(bounds.last, before - 1)
      const low = Math.max(bounds.first, before - windowSequences)
      const ask = { number, wanted, expression: match.expression }

      const isNew = counted.upTo < bounds.last
      const together =
        isNew && match.hasPrefix
          ? run.countAndPage(ask, { first: counted.upTo + 1, last: bounds.last }, { first: low, last: top })
          : undefined
      const fresh = together?.entries ?? (isNew ? run.count(ask, { first: counted.upTo + 1, last: bounds.last }) : 0)
      const total = counted.total + fresh
      remember(totals, key, { upTo: bounds.last, total })

      const near = together?.sequences.slice(0, limit) ?? []
      if (near.length === limit || total === 0) return { sequences: near, total }
      const rest = { first: bounds.first, last: together === undefined ? top : Math.min(top, low - 1) }
      return { sequences: [...near, ...(rest.first > rest.last ? [] : run.page(ask, rest, limit - near.length))], total }
    },
  }
}

interface Ask {
  readonly number: number
  readonly wanted: Wanted
  readonly expression: string
}

function createStatements(database: DatabaseSync) {
  const plain = "FROM search AS s WHERE search MATCH ?1 AND s.rowid >= CAST(?2 AS INTEGER) AND s.rowid <= CAST(?3 AS INTEGER)"
  const timed = `FROM search AS s CROSS JOIN filed AS f ON f.place = s.rowid WHERE search MATCH ?1 AND s.rowid >= CAST(?2 AS INTEGER) AND s.rowid <= CAST(?3 AS INTEGER)
    AND (f.occurred_ms, f.occurred_ns) >= (?4, ?5) AND (f.occurred_ms, f.occurred_ns) < (?6, ?7)`
  const pair = (make: (from: string, at: number) => string) => ({
    plain: database.prepare(make(plain, 4)),
    timed: database.prepare(make(timed, 8)),
  })
  const counts = pair((from) => `SELECT count(*) AS entries ${from}`)
  const pages = pair((from, at) => `SELECT s.rowid AS place ${from} ORDER BY s.rowid DESC LIMIT ?${at}`)
  // One pass for both, because what begins with a prefix is gathered anew by every pass.
  const together = pair(
    (from, at) => `SELECT count(*) FILTER (WHERE s.rowid BETWEEN ?${at} AND ?${at + 1}) AS entries,
      json_group_array(s.rowid) FILTER (WHERE s.rowid BETWEEN ?${at + 2} AND ?${at + 3}) AS places ${from}`,
  )
  const given = ({ number, wanted, expression }: Ask, { first, last }: Bounds): [which: "plain" | "timed", given: (string | number)[]] => {
    const times = timesOf(wanted)
    const asked = [expression, placeOf(number, first), placeOf(number, last)]
    return times === undefined ? ["plain", asked] : ["timed", [...asked, times.from.ms, times.from.ns, times.to.ms, times.to.ns]]
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
    countAndPage(ask: Ask, counting: Bounds, page: Bounds): { readonly entries: number; readonly sequences: number[] } {
      const { number } = ask
      const [which, asked] = given(ask, { first: Math.min(counting.first, page.first), last: Math.max(counting.last, page.last) })
      const edges = [counting.first, counting.last, page.first, page.last].map((sequence) => placeOf(number, Math.max(sequence, 0)))
      const row = together[which].get(...asked, ...edges)
      // A list of places is what the statement makes.
      const places = JSON.parse(String(row?.["places"])) as number[]
      return { entries: Number(row?.["entries"]), sequences: places.map(sequenceOf).toSorted((a, b) => b - a) }
    },
  }
}

function dictionaryOf(database: DatabaseSync): Dictionary {
  const lists = database.prepare("SELECT names FROM shared_names WHERE name = ?")
  const from = database.prepare("SELECT term FROM search_tokens WHERE term >= ? LIMIT 1")
  const following = (token: string): string | undefined => {
    const term = from.get(token)?.["term"]
    return typeof term === "string" ? term : undefined
  }
  return {
    // The column is written from a list of names.
    sharedNames: (field) => lists.all(field).map(({ names }) => JSON.parse(String(names)) as string[]),
    beginning(given) {
      // The index has its tokens without capitals, and a name may have some: what is asked for is folded as it was.
      const start = given.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
      const tokens: string[] = []
      // No token has a character as low as that which leads from one to the next.
      for (let token = following(start); token?.startsWith(start) === true; token = following(`${token}\x01`)) {
        if (tokens.length === expandedMax) return undefined
        tokens.push(token)
      }
      return tokens
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
