// The content that was destroyed on purpose, and the entries that record that. Code that finds a
// body or a sealed field missing asks here before it calls the entry broken.
//
// One document covers one block of sequences, so a look-up reads one small document, and the
// destroyed content of a million entries is spread over many. fsck rebuilds these documents from
// the entries that record them (operator/fsck/registry-replay.ts).

import {
  addRange,
  withoutRanges,
  type Destroyed,
  type DestroyedWhy,
  type SequenceRange,
} from "@tallystick/proof"
import { firstWhere } from "../runtime/first-where.ts"
import { changed, type Change, type DestroyedDocument } from "./documents.ts"
import type { Stored } from "./entries.ts"
import type { Registry } from "./store.ts"

/** What was destroyed of one entry. */
export type Gone =
  | { readonly what: "body"; readonly why: DestroyedWhy; readonly by: string }
  | { readonly what: "fields"; readonly why: "erased"; readonly digests: ReadonlySet<string> }

export type GoneAt = (sequence: number) => Gone | undefined

/**
 * Sequences in one document. The largest document has a few hundred ranges, or some thousand
 * digests.
 */
export const blockSequences = 1024

/**
 * The destroyed content of these entries. Call it after reading the entries, because a document is
 * written before anything is destroyed.
 */
export async function readGone(
  registry: Pick<Registry, "get">,
  workspace: string,
  sequences: Iterable<number>,
): Promise<GoneAt> {
  const blocks = new Set<number>()
  for (const sequence of sequences) blocks.add(blockOf(sequence))
  if (blocks.size === 0) return () => undefined
  const found = await Promise.all(
    [...blocks].map(async (block) => {
      const document = await registry.get("destroyed", workspace, blockId(block))
      return [block, document?.value] as const
    }),
  )
  const values = new Map(found)
  return (sequence) => goneIn(values.get(blockOf(sequence)), sequence)
}

export function bodiless(entries: readonly (Stored | undefined)[]): readonly number[] {
  return entries.flatMap((entry) =>
    entry !== undefined && entry.body === undefined ? [entry.sequence] : [],
  )
}

/** The changes of documents for an entry that records `destroyed`. */
export async function destroyedChanges(
  registry: Pick<Registry, "get">,
  workspace: string,
  destroyed: Destroyed,
  by: string,
): Promise<readonly Change[]> {
  return Promise.all(
    [...inBlocks(destroyed)].map(async ([id, part]) => {
      const before = await registry.get("destroyed", workspace, id)
      const place = before ?? ({ kind: "destroyed", id, version: 0 } as const)
      return changed<"destroyed">(place, withDestroyed(before?.value, part, by))
    }),
  )
}

/**
 * The ranges of these entries' destroyed bodies, ascending and merged. With `by`, only those that
 * this entry destroys.
 */
export async function destroyedBodies(
  registry: Pick<Registry, "get">,
  workspace: string,
  { first, last }: SequenceRange,
  by?: string,
): Promise<readonly SequenceRange[]> {
  const all: SequenceRange[] = []
  for (let block = blockOf(first); block <= blockOf(last); block++) {
    const { bodies = [] } =
      (await registry.get("destroyed", workspace, blockId(block)))?.value ?? {}
    for (const range of bodies) {
      const part = { first: Math.max(range.first, first), last: Math.min(range.last, last) }
      if (part.first > part.last || (by !== undefined && range.by !== by)) continue
      addRange(all, part)
    }
  }
  return all
}

export async function notDestroyed(
  registry: Pick<Registry, "get">,
  workspace: string,
  ranges: readonly SequenceRange[],
): Promise<readonly SequenceRange[]> {
  const left = await Promise.all(
    ranges.map(async (range) =>
      withoutRanges([range], await destroyedBodies(registry, workspace, range)),
    ),
  )
  return left.flat()
}

/** The content that an entry destroys, by the ids of the documents that cover it. */
export function inBlocks({ why, bodies, fields }: Destroyed): ReadonlyMap<string, Destroyed> {
  const blocks = new Map<string, { why: DestroyedWhy; bodies: SequenceRange[]; fields: Fields[] }>()
  const partOf = (block: number) => {
    const id = blockId(block)
    const known = blocks.get(id) ?? { why, bodies: [], fields: [] }
    blocks.set(id, known)
    return known
  }
  for (const { first, last } of bodies)
    for (let block = blockOf(first); block <= blockOf(last); block++) {
      const start = block * blockSequences + 1
      const end = start + blockSequences - 1
      partOf(block).bodies.push({ first: Math.max(first, start), last: Math.min(last, end) })
    }
  for (const one of fields) partOf(blockOf(one.sequence)).fields.push(one)
  return blocks
}

type Fields = Destroyed["fields"][number]

/** A body that is destroyed already stays attributed to the first entry that destroyed it. */
export function withDestroyed(
  before: DestroyedDocument = { bodies: [], fields: [] },
  { why, bodies, fields }: Destroyed,
  by: string,
): DestroyedDocument {
  const added = withoutRanges(bodies, before.bodies).map((range) => ({ ...range, why, by }))
  const all = [...before.bodies, ...added].sort((a, b) => a.first - b.first)
  const ranges: (typeof all)[number][] = []
  for (const one of all) {
    const last = ranges.at(-1)
    if (last?.last === one.first - 1 && last.by === one.by) ranges.splice(-1, 1, joined(last, one))
    else ranges.push(one)
  }
  const more = fields.map(({ sequence, digests }) => ({ sequence, digests, by }))
  const left = [...before.fields, ...more].filter(
    ({ sequence }) => rangeAt(ranges, sequence) === undefined,
  )
  return { bodies: ranges, fields: left.toSorted((a, b) => a.sequence - b.sequence) }
}

function joined<R extends SequenceRange>(one: R, next: R): R {
  return { ...one, last: next.last }
}

function goneIn(value: DestroyedDocument | undefined, sequence: number): Gone | undefined {
  if (value === undefined) return undefined
  const { bodies, fields } = value
  const range = rangeAt(bodies, sequence)
  if (range !== undefined) return { what: "body", why: range.why, by: range.by }
  const digests = fields.flatMap((one) => (one.sequence === sequence ? one.digests : []))
  return digests.length === 0
    ? undefined
    : { what: "fields", why: "erased", digests: new Set(digests) }
}

/** Answers for sequences in any order; the ranges are in order. */
export function isWithin(ranges: readonly SequenceRange[]): (sequence: number) => boolean {
  return (sequence) => rangeAt(ranges, sequence) !== undefined
}

function rangeAt<R extends SequenceRange>(ranges: readonly R[], sequence: number): R | undefined {
  const range = ranges[firstWhere(ranges, ({ last }) => last >= sequence)]
  return range !== undefined && range.first <= sequence ? range : undefined
}

function blockOf(sequence: number): number {
  return Math.floor((sequence - 1) / blockSequences)
}

function blockId(block: number): string {
  return String(block).padStart(9, "0")
}
