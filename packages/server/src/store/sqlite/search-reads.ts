// What can be asked of the search file. The searching thread and the program that files ask alike.

import type { DatabaseSync } from "node:sqlite"
import type { Hits, Wanted } from "../search.ts"
import { createFilters } from "./search-filters.ts"
import { createTexts } from "./search-texts.ts"

export interface FiledWorkspace {
  readonly number: number
  readonly position: number
  readonly hash: Uint8Array
}

export function filedWorkspaces(database: DatabaseSync): (workspace: string) => FiledWorkspace | undefined {
  const one = database.prepare("SELECT number, position, hash FROM workspaces WHERE id = ?")
  return (workspace) => {
    const row = one.get(workspace)
    if (row === undefined) return undefined
    const { hash } = row
    if (!(hash instanceof Uint8Array)) throw new Error("a column that holds bytes holds something else")
    return { number: Number(row["number"]), position: Number(row["position"]), hash }
  }
}

export function searchReads(database: DatabaseSync) {
  const workspaceOf = filedWorkspaces(database)
  const filters = createFilters(database)
  const texts = createTexts(database)
  const begin = database.prepare("BEGIN")
  const commit = database.prepare("COMMIT")

  return {
    position: (workspace: string): number => workspaceOf(workspace)?.position ?? 0,
    /** All of it at one moment, so that the total is that of the page, and of what is filed up to the position. */
    findFiled(workspace: string, wanted: Wanted, before: number, limit: number): { readonly position: number; readonly hits: Hits } {
      begin.run()
      try {
        const filed = workspaceOf(workspace)
        return filed === undefined
          ? { position: 0, hits: nothing }
          : { position: filed.position, hits: findIn(filed, wanted, before, limit) }
      } finally {
        commit.run()
      }
    },
  }

  function findIn({ number, position }: FiledWorkspace, wanted: Wanted, before: number, limit: number): Hits {
    const bounds = { first: Math.max(wanted.firstSequence ?? 1, 1), last: Math.min(wanted.lastSequence ?? position, position) }
    if (bounds.first > bounds.last || isImpossible(wanted)) return nothing
    const hasText = wanted.subject !== undefined || (wanted.query?.terms.length ?? 0) > 0
    // One more than the page holds, to know whether there is one.
    const { sequences, total } = (hasText ? texts : filters).find(number, wanted, bounds, Math.min(before, position + 1), limit + 1)
    return { sequences: sequences.slice(0, limit), hasMore: sequences.length > limit, total }
  }
}

const nothing: Hits = { sequences: [], hasMore: false, total: 0 }

/** Nobody is in no project, and nobody is a person of no type. */
function isImpossible({ projectIds, system, subject }: Wanted): boolean {
  return (projectIds?.length === 0 && (system === "without" || subject !== undefined)) || subject?.types.length === 0
}
