// Finds the entries of an evidence pack from receipt ids. The requester must be allowed to read
// each of them.

import { openEntry } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import type { SharedPace } from "../runtime/pace.ts"
import type { Journal } from "../store/store.ts"
import { mayTouch, type Principal } from "./permissions.ts"

export interface SelectionParts {
  readonly journal: Pick<Journal, "byReceipt">
  readonly pace: SharedPace
}

const atOnce = 8

/** The sequences of these receipts, ascending. If a project is given, all must belong to it. */
export async function sequencesOf(
  { journal, pace }: SelectionParts,
  by: Principal,
  workspace: string,
  receiptIds: readonly string[],
  projectId: string | undefined,
): Promise<readonly number[]> {
  const sequences: number[] = []
  for (let from = 0; from < receiptIds.length; from += atOnce) {
    const found = await Promise.all(
      receiptIds.slice(from, from + atOnce).map((receipt) => journal.byReceipt(workspace, receipt)),
    )
    for (const [place, stored] of found.entries()) {
      if (pace.isUp()) await pace.next()
      const project = stored && openEntry(stored, [])?.content.projectId
      // A credential without a project limit learns that an entry is broken when the pack is made.
      if (stored === undefined || !mayTouch(by, project))
        throw new LedgerError(
          "not_found",
          `receiptIds[${from + place}] is not the id of a receipt that you may read`,
        )
      if (projectId !== undefined && project !== projectId)
        throw new LedgerError(
          "invalid_field",
          `receiptIds[${from + place}] must be a receipt of the project that projectId names`,
        )
      sequences.push(stored.sequence)
    }
  }
  return sequences.toSorted((a, b) => a - b)
}
