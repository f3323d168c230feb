// The entries of the ledger that record an erasure.

import { assert, parseRecord, readDestroyed, type Destroyed } from "@tallystick/proof"
import type { Stored } from "../store/entries.ts"
import type { Act } from "../workspace/admin-entries.ts"
import { entriesInBatches } from "./entries-in-batches.ts"
import { intactBody } from "./intact-body.ts"
import { sequencesOf } from "./subject-entries.ts"
import { sourceOf, type WorkingParts } from "./erasure-survey.ts"

/** Its own entries, which all have it as their target, oldest first. */
export async function ownEntries(
  parts: WorkingParts,
  workspace: string,
  id: string,
): Promise<readonly Stored[]> {
  const term = { kind: "field", field: "target", not: false, value: id, isPrefix: false } as const
  const wanted = { system: "only", query: { terms: [term] } } as const
  const sequences: number[] = []
  for await (const some of sequencesOf(sourceOf(parts), workspace, wanted)) sequences.push(...some)
  sequences.reverse()
  const entries: Stored[] = []
  for await (const some of entriesInBatches(parts.store.journal, workspace, sequences))
    for (const entry of some) {
      assert(entry !== undefined, "what a search finds is stored")
      entries.push(entry)
    }
  return entries
}

/** What these entries record as destroyed. */
export function destroyedIn(own: readonly Stored[]): readonly Destroyed[] {
  return own.flatMap((entry) => destroyedBy(entry) ?? [])
}

function destroyedBy(entry: Stored): Destroyed | undefined {
  const kind = parseRecord(entry.record)?.kind
  const body = intactBody(entry)
  // The service destroys no body of its own by which it says what it has destroyed.
  assert(kind !== "erasure" || body !== undefined, `entry ${entry.sequence} has its body`)
  return kind === undefined || body === undefined
    ? undefined
    : readDestroyed(kind, entry.sequence, body)
}

export function* sequencesIn({ bodies, fields }: Destroyed): Generator<number> {
  for (const { first, last } of bodies)
    for (let sequence = first; sequence <= last; sequence++) yield sequence
  for (const { sequence } of fields) yield sequence
}

export function actOf(id: string, action: string): Pick<Act, "by" | "action" | "target"> {
  return { by: { kind: "instance" }, action, target: targetOf(id) }
}

export function targetOf(id: string) {
  return { id, type: "erasure" }
}
