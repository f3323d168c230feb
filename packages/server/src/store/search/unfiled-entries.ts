// What has been recorded and is not filed yet, read from the journal and looked through one by one:
// whoever searches finds what was written a moment ago, and waits for no index. What is read is
// kept until it is filed.

import { filedAfter } from "./searchable-fields.ts"
import { findableOf, matches, type Findable } from "./matching.ts"
import type { Hits, Wanted } from "./search.ts"
import type { Stored } from "../store.ts"

/** Looked through in a few milliseconds; what a busy writer leaves unfiled is less. */
const entriesMax = 4000
/**
 * Of bodies and disclosures, of which several times as much is made: thousands of the largest would
 * be gigabytes.
 */
const bytesMax = 4 * 1024 * 1024
/** Workspaces whose entries are kept from one search to the next. */
const workspacesMax = 4

interface Kept {
  readonly findable: Findable
  readonly bytes: number
}

/** Newest first; undefined: they are too many. */
export type Unfiled = (
  workspace: string,
  position: number,
  wanted: Wanted,
) => readonly number[] | undefined

export interface Recorded {
  /** The last sequence; 0 of a workspace without entries. */
  last(workspace: string): number
  after(workspace: string, sequence: number, limit: number): readonly Stored[]
}

export function createUnfiled(recorded: Recorded): Unfiled {
  const known = new Map<string, readonly Kept[]>()

  return (workspace, position, wanted) => {
    const end = recorded.last(workspace)
    if (end - position > entriesMax) return undefined
    const entries = (known.get(workspace) ?? []).filter(
      ({ findable }) => findable.filed.sequence > position,
    )
    known.delete(workspace)
    // What was read begins where it was filed up to then, and that may have begun anew.
    if (entries[0]?.findable.filed.sequence !== position + 1) entries.length = 0
    let bytes = entries.reduce((sum, one) => sum + one.bytes, 0)
    for (let last = position + entries.length; last < end; last = position + entries.length) {
      const read = recorded.after(workspace, last, end - last)
      if (read.length === 0) break
      const sizes = new Map(
        read.map(({ sequence, body, disclosures }) => [
          sequence,
          (body?.length ?? 0) + disclosures.length,
        ]),
      )
      for (const filed of filedAfter(last, read)) {
        const own = sizes.get(filed.sequence) ?? 0
        entries.push({ findable: findableOf(filed), bytes: own })
        bytes += own
      }
      if (bytes > bytesMax) return undefined
    }
    remember(known, workspace, entries)
    return entries
      .filter(({ findable }) => matches(findable, wanted))
      .map(({ findable }) => findable.filed.sequence)
      .toReversed()
  }
}

/** A page of what is filed, with what is not before it. */
export function joined(
  { sequences, hasMore, total }: Hits,
  unfiled: readonly number[],
  before: number,
  limit: number,
): Hits {
  const all = [...unfiled.filter((sequence) => sequence < before), ...sequences]
  return {
    sequences: all.slice(0, limit),
    hasMore: hasMore || all.length > limit,
    total: total + unfiled.length,
  }
}

/** The workspace that was not searched longest makes room. */
function remember(
  known: Map<string, readonly Kept[]>,
  workspace: string,
  entries: readonly Kept[],
): void {
  if (entries.length === 0) return
  known.set(workspace, entries)
  if (known.size <= workspacesMax) return
  const [oldest] = known.keys()
  if (oldest !== undefined) known.delete(oldest)
}
