// Keys and receipts in memory: those of all entries after the last complete run, and a filter for
// each earlier run. The answers are exact, because every entry is added here when it is recorded,
// and the tail is read again at a start.

import { assert } from "@tallystick/proof"
import { createKeyPlaces, type KeyPlaces } from "../../runtime/key-places.ts"
import type { Place } from "./place-reads.ts"
import { runEntries, runOf } from "./key-runs.ts"
import { createRunFilters } from "./run-filters.ts"

export interface Tail {
  add(place: Place): void
  /** The sequence of the entry with this key; or the runs that may have it, none if it is new. */
  find(
    workspace: string,
    idem: string,
  ): { readonly sequence: number } | { readonly runs: readonly number[] }
  byReceipt(workspace: string, receipt: string): number | undefined
  /** Replaces the keys of a run, which is in the index now, by its filter. */
  settle(run: number, filter: Uint8Array): void
  /** The first complete run without a filter, if there is one. */
  due(): number | undefined
  /** The number of the last entry that was added or that a filter covers. */
  lastN(): number
  settledN(): number
}

/**
 * The entries of a run that is not in the index yet. Stored in columns, because the garbage
 * collector would have to visit every object.
 */
interface Unsettled {
  readonly keys: KeyPlaces
  readonly receipts: string[]
  /** Filled at the first look-up, so that writes alone do not pay for it. */
  readonly byReceipt: Map<string, number>
  readonly workspaces: string[]
  readonly sequences: Float64Array
}

export function createTail(): Tail {
  const filters = createRunFilters()
  const unsettled = new Map<number, Unsettled>()
  let lastN = 0

  const runAt = (run: number): Unsettled => {
    const known = unsettled.get(run)
    if (known !== undefined) return known
    const fresh = {
      keys: createKeyPlaces(runEntries),
      receipts: [],
      byReceipt: new Map(),
      workspaces: [],
      sequences: new Float64Array(runEntries),
    }
    unsettled.set(run, fresh)
    return fresh
  }

  return {
    add({ n, workspace, sequence, receipt, idem }) {
      lastN = Math.max(lastN, n)
      // An entry without a workspace cannot be found, and must not hide another entry's key.
      if (workspace === "") return
      const run = runAt(runOf(n))
      const at = (n - 1) % runEntries
      run.workspaces[at] = workspace
      run.sequences[at] = sequence
      run.receipts[at] = receipt
      if (idem !== undefined) run.keys.set(idem, at)
    },
    find(workspace, idem) {
      for (const run of unsettled.values()) {
        const sequence = sequenceAt(run, workspace, run.keys.get(idem))
        if (sequence !== undefined) return { sequence }
      }
      return { runs: filters.runsOf(idem) }
    },
    byReceipt(workspace, receipt) {
      for (const run of unsettled.values()) {
        for (let at = run.byReceipt.size; at < run.receipts.length; at++)
          run.byReceipt.set(run.receipts[at] ?? "", at)
        const sequence = sequenceAt(run, workspace, run.byReceipt.get(receipt))
        if (sequence !== undefined) return sequence
      }
      return undefined
    },
    settle(run, filter) {
      assert(run === filters.count(), "runs are settled in their order")
      filters.add(filter)
      unsettled.delete(run)
      lastN = Math.max(lastN, filters.count() * runEntries)
    },
    due: () => (lastN > 0 && runOf(lastN) > filters.count() ? filters.count() : undefined),
    lastN: () => lastN,
    settledN: () => filters.count() * runEntries,
  }
}

function sequenceAt(run: Unsettled, workspace: string, at: number | undefined): number | undefined {
  return at !== undefined && run.workspaces[at] === workspace ? run.sequences[at] : undefined
}
