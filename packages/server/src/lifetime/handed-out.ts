// Finds the evidence packs, scoped tokens and exports that contained a person's content. They
// cannot be recalled, so an erasure lists them.

import { every } from "../store/all-documents.ts"
import type { Person, HandedOut, TokenBound } from "../store/documents.ts"
import type { Journal, Registry } from "../store/store.ts"
import { entriesInBatches } from "./entries-in-batches.ts"
import { sequencesOf, type SubjectSource } from "./subject-entries.ts"

export interface HandedOutSource extends Omit<SubjectSource, "journal"> {
  readonly journal: Pick<Journal, "at" | "byReceipt">
  readonly registry: Registry
}

/** At most this many ids of each kind are listed. */
const listedMax = 100
/** The actions of the entries that record exports. */
const exportActions = ["workspace.export", "workspace.events.export"]

/**
 * `sequences` are the person's entries. `before` is what was found at the request of the erasure,
 * which may have removed some of these tokens.
 */
export async function handedOut(
  source: HandedOutSource,
  workspace: string,
  sequences: ReadonlySet<number>,
  subject: Person | undefined,
  before?: HandedOut,
): Promise<HandedOut> {
  const packs = await packsWith(source, workspace, sequences)
  const given = { sequences, subject, packs: new Set(packs) }
  const tokens = [
    ...new Set([...(await tokensFor(source, workspace, given)), ...(before?.tokens ?? [])]),
  ]
  // A call cannot have as many arguments as a person may have entries.
  const first = sequences.values().reduce((one, other) => Math.min(one, other), Infinity)
  const exports = await exportsSince(source, workspace, first)
  const all = [packs, tokens, exports]
  const others = all.reduce((sum, { length }) => sum + Math.max(length - listedMax, 0), 0)
  const [listedPacks = [], listedTokens = [], listedExports = []] = all.map((ids) =>
    ids.slice(0, listedMax),
  )
  return {
    packs: listedPacks,
    tokens: listedTokens,
    exports: listedExports,
    more: Math.max(others, before?.more ?? 0),
  }
}

async function packsWith(
  { registry }: HandedOutSource,
  workspace: string,
  sequences: ReadonlySet<number>,
): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { id } of every(registry, "pack", workspace)) {
    const pack = await registry.get("pack", workspace, id)
    if (pack?.value.sequences.some((sequence) => sequences.has(sequence)) === true) ids.push(id)
  }
  return ids
}

interface GivenAway {
  readonly sequences: ReadonlySet<number>
  readonly subject: Person | undefined
  readonly packs: ReadonlySet<string>
}

async function tokensFor(
  { registry, journal }: HandedOutSource,
  workspace: string,
  { sequences, subject, packs }: GivenAway,
): Promise<readonly string[]> {
  const shows = async (bound: TokenBound): Promise<boolean> => {
    switch (bound.type) {
      case "receipt": {
        const entry = await journal.byReceipt(workspace, bound.receipt)
        return entry !== undefined && sequences.has(entry.sequence)
      }
      case "activity":
        return bound.subject.id === subject?.id
      case "evidence":
        return packs.has(bound.packId)
      case "policy":
        return false
    }
  }
  const ids: string[] = []
  for await (const { id, value } of every(registry, "token", workspace))
    if (await shows(value.bound)) ids.push(id)
  return ids
}

/** An export may have the person's entries if it was made after the first of them. */
async function exportsSince(
  source: HandedOutSource,
  workspace: string,
  first: number,
): Promise<readonly string[]> {
  const terms = exportActions.map((value) => {
    return { kind: "field", field: "action", not: false, isPrefix: false, value } as const
  })
  const wanted = { system: "only", query: { terms }, firstSequence: first } as const
  const receipts: string[] = []
  if (!Number.isFinite(first)) return receipts
  for await (const sequences of sequencesOf(source, workspace, wanted))
    for await (const entries of entriesInBatches(source.journal, workspace, sequences))
      for (const entry of entries) if (entry !== undefined) receipts.push(entry.receipt)
  return receipts
}
