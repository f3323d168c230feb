// What can be asked of the search file. The searching thread and the program that files ask alike.

import type { DatabaseSync } from "node:sqlite"
import { isSearch, type Hits, type Wanted } from "../search/search.ts"
import { createFilters } from "./search-filters.ts"
import { createTexts } from "./search-texts.ts"

export interface FiledWorkspace {
  readonly number: number
  readonly position: number
  readonly hash: Uint8Array
}

export function filedWorkspaces(
  database: DatabaseSync,
): (workspace: string) => FiledWorkspace | undefined {
  const one = database.prepare("SELECT number, position, hash FROM workspaces WHERE id = ?")
  return (workspace) => {
    const row = one.get(workspace)
    if (row === undefined) return undefined
    const { hash } = row
    if (!(hash instanceof Uint8Array))
      throw new Error("a column that holds bytes holds something else")
    return { number: Number(row["number"]), position: Number(row["position"]), hash }
  }
}

/** A search in steps: between two of them others may have their turn. */
export type Steps<T> = Generator<undefined, T>

/** All steps at once. */
export function allOf<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

export interface FiledHits {
  /** What is filed up to here has been looked at. */
  readonly position: number
  readonly hits: Hits
}

/** Lists of starts that are larger than `listBytesMax` are refused. */
export function searchReads(database: DatabaseSync, listBytesMax: number) {
  const workspaceOf = filedWorkspaces(database)
  const filters = createFilters(database)
  const texts = createTexts(database, listBytesMax)
  const begin = database.prepare("BEGIN")
  const commit = database.prepare("COMMIT")

  return {
    position: (workspace: string): number => workspaceOf(workspace)?.position ?? 0,
    /**
     * Each step at one moment, so that the total is that of the page, and of what is filed up to
     * the position.
     */
    *findFiled(workspace: string, wanted: Wanted, before: number, limit: number): Steps<FiledHits> {
      const steps = findIn(workspace, wanted, before, limit)
      for (;;) {
        begin.run()
        try {
          const { done, value } = steps.next()
          if (done === true) return value
        } finally {
          commit.run()
        }
        yield
      }
    },
  }

  function* findIn(
    workspace: string,
    wanted: Wanted,
    before: number,
    limit: number,
  ): Steps<FiledHits> {
    const { number, position } = workspaceOf(workspace) ?? { number: 0, position: 0 }
    const bounds = {
      first: Math.max(wanted.firstSequence ?? 1, 1),
      last: Math.min(wanted.lastSequence ?? position, position),
    }
    if (bounds.first > bounds.last || isImpossible(wanted)) return { position, hits: nothing }
    // One more than the page holds, to know whether there is one.
    const asked = [number, wanted, bounds, Math.min(before, position + 1), limit + 1] as const
    const { sequences, total } =
      wanted.subject === undefined && !isSearch(wanted)
        ? filters.find(...asked)
        : yield* texts.find(...asked)
    return {
      position,
      hits: { sequences: sequences.slice(0, limit), hasMore: sequences.length > limit, total },
    }
  }
}

const nothing: Hits = { sequences: [], hasMore: false, total: 0 }

/** Nobody is in no project, and nobody is a person of no type. */
function isImpossible({ projectIds, system, subject }: Wanted): boolean {
  return (
    (projectIds?.length === 0 && (system === "without" || subject !== undefined)) ||
    subject?.types.length === 0
  )
}
