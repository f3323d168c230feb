// Adds to a person's consents, for an evidence pack, the entries that published the versions they
// name. These prove the texts.

import { isJsonObject } from "@tallystick/proof"
import { readEntries, type EntrySource, type PackEntry } from "../query/pack-entries.ts"
import { policyDocumentId, type Workspace } from "../store/documents.ts"

/**
 * All sequences, ascending. `published` are the sequences of all publications that the pack may
 * contain.
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
