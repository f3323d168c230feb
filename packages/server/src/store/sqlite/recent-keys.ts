// Keys and receipts in memory: those of all entries after the last complete run, and a filter for
// each earlier run. The answers are exact, because every entry is added here when it is recorded,
// and the tail is read again at a start.

import { strict as assert } from "node:assert"
import { createKeyPlaces, type KeyPlaces } from "../../runtime/key-places.ts"
import type { Place } from "./place-reads.ts"
import { mayHold, probe, runEntries, runOf } from "./key-runs.ts"

export interface Tail {
  /** Adds a recorded entry. */
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

const certainlyNew = { runs: [] } as const

export function createTail(): Tail {
  const filters: Uint8Array[] = []
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
      if (filters.length === 0) return certainlyNew
      const wanted = probe(idem)
      let runs: number[] | undefined
      let run = 0
      for (const filter of filters) {
        if (mayHold(filter, wanted)) (runs ??= []).push(run)
        run += 1
      }
      return runs === undefined ? certainlyNew : { runs }
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
      assert.equal(run, filters.length, "runs are settled in their order")
      filters.push(filter)
      unsettled.delete(run)
      lastN = Math.max(lastN, filters.length * runEntries)
    },
    due: () => (lastN > 0 && runOf(lastN) > filters.length ? filters.length : undefined),
    lastN: () => lastN,
    settledN: () => filters.length * runEntries,
  }
}

function sequenceAt(run: Unsettled, workspace: string, at: number | undefined): number | undefined {
  return at !== undefined && run.workspaces[at] === workspace ? run.sequences[at] : undefined
}
