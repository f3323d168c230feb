// Keeps the number of a workspace's documents of one kind within a limit. Those that it has beyond
// the limit stay.

import { LedgerError } from "../error.ts"
import type { DocumentKind } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"

/** Runs `create`, which makes one document, or throws `conflict` if the workspace has too many. */
export type WithinLimit = <T>(workspace: string, create: () => Promise<T>) => Promise<T>

/** `what` names the documents in the error message. */
export function createWithinLimit(
  registry: Pick<Registry, "count">,
  kind: DocumentKind,
  most: number,
  what: string,
): WithinLimit {
  /**
   * Counted once per workspace, because counting takes longer the more there are: what other
   * servers create, and what an erasure removes, is seen at the next start.
   */
  const counted = new Map<string, Promise<{ count: number }>>()
  const countOf = (workspace: string): Promise<{ count: number }> => {
    const known = counted.get(workspace)
    if (known !== undefined) return known
    const counting = registry.count(kind, workspace).then((count) => ({ count }))
    counted.set(workspace, counting)
    counting.catch(() => counted.delete(workspace))
    return counting
  }

  return async (workspace, create) => {
    const of = await countOf(workspace)
    if (of.count >= most)
      throw new LedgerError(
        "conflict",
        `a workspace has ${most} ${what} at most, ended ones included`,
      )
    of.count += 1
    try {
      return await create()
    } catch (error) {
      // Otherwise it may have been recorded.
      if (error instanceof LedgerError && error.code !== "ledger_unavailable") of.count -= 1
      throw error
    }
  }
}
