// Counts documents in steps. A workspace has up to ten million tokens: one statement for all of them
// would make other reads wait, and on PostgreSQL it would reach its timeout.

import type { DocumentKind } from "./documents.ts"

/** Takes some milliseconds. */
export const countedAtOnce = 10_000

/** The number of documents behind an id, up to `countedAtOnce`, and the last of them. */
export interface CountedAfter {
  readonly count: number
  readonly last: string
}

export async function countDocuments(
  countAfter: (kind: DocumentKind, workspace: string, id: string) => Promise<CountedAfter>,
  kind: DocumentKind,
  workspace: string,
): Promise<number> {
  let all = 0
  for (let after = ""; ;) {
    const { count, last } = await countAfter(kind, workspace, after)
    all += count
    if (count < countedAtOnce) return all
    after = last
  }
}
