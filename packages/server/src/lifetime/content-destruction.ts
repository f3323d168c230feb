// Destroys content, as an entry has recorded, everywhere in this service: rows and frames, the
// archive, the search, and the write-ahead logs. Each step is idempotent.

import { isJsonObject, type Destroyed, type SequenceRange } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import type { DestroyedContent } from "../followers/segment-cleaning.ts"
import { disclosureDigest } from "../runtime/sha256.ts"
import type { ContentKeeper, Remaining } from "../store/content-keeper.ts"
import { digestsIn, disclosuresOf, parsedBody } from "../store/opened-entry.ts"
import type { Stored } from "../store/entries.ts"
import type { JournalReader } from "../store/store.ts"
import { readBatch } from "./entries-in-batches.ts"

export interface DestroyingParts {
  readonly journal: Pick<JournalReader, "at">
  readonly content: ContentKeeper
  readonly clock: Clock
  readonly removeFromArchive: (workspace: string, ranges: readonly SequenceRange[]) => Promise<void>
  /** See `Filing.forget`. */
  readonly forget: (workspace: string, destroyed: DestroyedContent) => Promise<void>
}

/** Entries whose remaining fields are stored together, because a step waits for the disk. */
const keptAtOnce = 256
/** Ranges in one question to the thread, which compares each frame with all of them. */
const rangesAtOnce = 64
/** Pause before a retry: readers hold an earlier state for some milliseconds. */
const clearEveryMs = 50

/**
 * When it resolves, no row and no log of the engine has any of it, and no search finds an entry by
 * it.
 */
export async function destroyContent(
  parts: DestroyingParts,
  workspace: string,
  all: readonly Destroyed[],
): Promise<void> {
  const { content, clock, forget } = parts
  const owners = { actor: [] as number[], target: [] as number[] }
  for (const { fields } of all) await destroyFields(parts, workspace, fields, owners)
  const bodies = all.flatMap((destroyed) => destroyed.bodies).toSorted((a, b) => a.first - b.first)
  await destroyBodies(content, workspace, bodies)
  await parts.removeFromArchive(workspace, bodies)
  await forget(workspace, { bodies, ...owners })
  while (!(await content.clearLog())) await clock.sleep(clearEveryMs)
}

/** When it resolves, unused parts of the engine's files have nothing that was destroyed. */
export async function overwriteCopies({
  content,
  clock,
}: Pick<DestroyingParts, "content" | "clock">): Promise<void> {
  while (!(await content.overwriteCopies())) await clock.sleep(clearEveryMs)
}

async function destroyBodies(
  content: ContentKeeper,
  workspace: string,
  ranges: readonly SequenceRange[],
): Promise<void> {
  for (let from = 0; from < ranges.length; from += rangesAtOnce) {
    let left = ranges.slice(from, from + rangesAtOnce)
    while (left.length > 0) {
      const done = await content.destroyBodies(workspace, left)
      left = left
        .filter(({ last }) => last > done)
        .map(({ first, last }) => ({ first: Math.max(first, done + 1), last }))
    }
  }
}

/** Notes whether they were fields of the actor or of the target, which the search must forget. */
async function destroyFields(
  { journal, content }: DestroyingParts,
  workspace: string,
  fields: Destroyed["fields"],
  owners: Readonly<Record<"actor" | "target", number[]>>,
): Promise<void> {
  const sequences = fields.map(({ sequence }) => sequence)
  const read = (at: number) => readBatch(journal, workspace, sequences, at)
  let left: Remaining[] = []
  let entries = await read(0)
  for (let at = 0; entries.length > 0;) {
    for (const [place, entry] of entries.entries()) {
      // The sealed fields of a destroyed body are destroyed already.
      if (entry?.body === undefined) continue
      const gone = new Set(fields[at + place]?.digests)
      for (const owner of ownersOf(entry, gone)) owners[owner].push(entry.sequence)
      const kept = disclosuresOf(entry).filter((one) => !gone.has(disclosureDigest(one)))
      left.push({ sequence: entry.sequence, disclosures: kept.join("~") })
    }
    at += entries.length
    const isEnough = left.length >= keptAtOnce || at >= fields.length
    // Another thread destroys, so the next entries are read meanwhile.
    const [next] = await Promise.all([read(at), isEnough && keepOnly(content, workspace, left)])
    entries = next
    if (isEnough) left = []
  }
}

async function keepOnly(
  content: ContentKeeper,
  workspace: string,
  remaining: readonly Remaining[],
): Promise<void> {
  for (let left = remaining; left.length > 0;) {
    const done = await content.keepDisclosures(workspace, left)
    left = left.filter(({ sequence }) => sequence > done)
  }
}

function ownersOf({ body }: Stored, gone: ReadonlySet<string>): ("actor" | "target")[] {
  const read = parsedBody(body)
  const digests = digestsIn(isJsonObject(read) ? read["target"] : undefined)
  const isTargets = (one: string): boolean => digests.includes(one)
  const all = [...gone]
  return [
    ...(all.every((one) => isTargets(one)) ? [] : (["actor"] as const)),
    ...(all.some((one) => isTargets(one)) ? (["target"] as const) : []),
  ]
}
