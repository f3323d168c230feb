// What the full-text index knows of its own tokens: which there are, and how large their lists are,
// before anybody walks them.

import type { DatabaseSync } from "node:sqlite"

export interface Dictionary {
  /** The lists of names that a field's values may stand under, beside its own name alone. */
  sharedNames(field: string): readonly (readonly string[])[]
  has(token: string): boolean
  /** All tokens that begin so; undefined when they are too many to be asked for one by one. */
  beginning(token: string): readonly string[] | undefined
  /**
   * How large the lists of these tokens are, to some pages: no posting is read. What is named twice
   * is walked twice.
   */
  listBytes(ranges: readonly TokenRange[]): number
}

/** A token's list; or, if it is a start, those of all tokens that begin so. */
export interface TokenRange {
  readonly token: string
  readonly isStart: boolean
}

/**
 * Tokens that are asked for in place of a prefix. To find them out takes some ten microseconds
 * each.
 */
const expandedMax = 32

export function createDictionary(database: DatabaseSync): Dictionary {
  const lists = database.prepare("SELECT names FROM shared_names WHERE name = ?")
  const from = database.prepare("SELECT term FROM search_tokens WHERE term >= ? LIMIT 1")
  const following = (token: string): string | undefined => {
    const term = from.get(token)?.["term"]
    return typeof term === "string" ? term : undefined
  }
  return {
    // The column is written from a list of names.
    sharedNames: (field) =>
      lists.all(field).map(({ names }) => JSON.parse(String(names)) as string[]),
    has(given) {
      const token = folded(given)
      return following(token) === token
    },
    beginning(given) {
      const start = folded(given)
      const tokens: string[] = []
      // No token has a character as low as that which leads from one to the next.
      for (
        let token = following(start);
        token?.startsWith(start) === true;
        token = following(`${token}\x01`)
      ) {
        if (tokens.length === expandedMax) return undefined
        tokens.push(token)
      }
      return tokens
    },
    listBytes: createSizes(database),
  }
}

/**
 * The index has its tokens without capitals, and a name may have some: what is asked for is folded
 * as it was.
 */
function folded(token: string): string {
  return token.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** As the index was made (`migrations/search-001.sql`). */
const leafBytes = 8000

/**
 * Leaf pages are numbered in the order of their tokens, and `search_idx` says which token each
 * begins with.
 */
function createSizes(database: DatabaseSync): (ranges: readonly TokenRange[]) => number {
  // A leaf in the middle of a long list has no row, so the list goes on up to the next leaf that
  // has one, or to the segment's last.
  const leaves = database.prepare(
    `WITH RECURSIVE segments (id) AS (
       SELECT min(segid) FROM search_idx
       UNION ALL SELECT (SELECT min(segid) FROM search_idx WHERE segid > id) FROM segments WHERE id IS NOT NULL
     )
     SELECT coalesce(sum(max(0,
       coalesce(
         (SELECT pgno >> 1 FROM search_idx WHERE segid = id AND term > ?2 ORDER BY term LIMIT 1),
         (SELECT (max(d.id) & 0x7fffffff) + 1 FROM search_data AS d WHERE d.id BETWEEN segments.id << 37 AND (segments.id << 37) + 0x7fffffff)
       ) - coalesce((SELECT pgno >> 1 FROM search_idx WHERE segid = id AND term <= ?1 ORDER BY term DESC LIMIT 1), 1) - 1
     )), 0) AS leaves FROM segments WHERE id IS NOT NULL`,
  )
  return (ranges) => {
    let bytes = 0
    for (const { token, isStart } of ranges) {
      const first = Buffer.from(mainIndex + folded(token))
      const last = isStart ? Buffer.concat([first, afterAll]) : first
      bytes += leafBytes * Number(leaves.get(first, last)?.["leaves"])
    }
    return bytes
  }
}

/** What FTS5 writes before every token of the index that has no prefixes of a fixed length. */
const mainIndex = "0"
/** No byte of UTF-8 is as high. */
const afterAll = Buffer.from([0xff])
