// Finds the entries of an evidence pack: those of receipt ids, or the publications that a person's
// consents name.

import { isJsonObject } from "@tallystick/proof"
import { openEntry } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import { readEntries, type EntrySource, type PackEntry } from "../query/pack-entries.ts"
import type { SharedPace } from "../runtime/pace.ts"
import { policyDocumentId, type Workspace } from "../store/documents.ts"
import type { Journal } from "../store/store.ts"
import { mayTouch, type Principal } from "./permissions.ts"

export interface SelectionParts {
  readonly journal: Pick<Journal, "byReceipt">
  readonly pace: SharedPace
}

const atOnce = 8

/**
 * The sequences of these receipts, ascending. The requester must be allowed to read each of them. If
 * a project is given, all must belong to it.
 */
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

/**
 * Adds to a person's consents the entries that published the versions they name, which prove the
 * texts. All sequences, ascending. `published` are the sequences of all publications that the pack
 * may contain.
 */
export async function withPublications(
  source: EntrySource,
  workspace: Workspace,
  consents: readonly number[],
  published: readonly number[],
): Promise<readonly number[]> {
  const versions = new Set<string>()
  for await (const { body } of entriesOf(source, workspace, consents)) {
    const { projectId, policyVersion } = body
    if (typeof projectId === "string" && typeof policyVersion === "number")
      versions.add(policyDocumentId(projectId, policyVersion))
  }
  const named: number[] = []
  for await (const { body, sequence } of entriesOf(source, workspace, published)) {
    const { target } = body
    const id = isJsonObject(target) ? target["id"] : undefined
    if (typeof id === "string" && versions.has(id)) named.push(sequence)
  }
  return [...consents, ...named].toSorted((a, b) => a - b)
}

async function* entriesOf(
  source: EntrySource,
  workspace: Workspace,
  sequences: readonly number[],
): AsyncGenerator<PackEntry> {
  for await (const batch of readEntries(source, workspace, sequences)) yield* batch
}
