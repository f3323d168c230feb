// The verdict about a chain, which claims no more than the service has checked, and when.

import type { ChainState, CheckedRange } from "@tallystick/client/wire"
import { weekMs } from "../../parts/spans.ts"

/** An older check counts as none. */
const freshMs = weekMs

export type CellState = "verified" | "checking" | "unchecked" | "broken" | "after"

export interface Cell {
  readonly from: number
  readonly to: number
  readonly state: CellState
  readonly isArchived: boolean
}

export interface ChainVerdict {
  readonly tone: "intact" | "broken" | "neutral"
  /** The last signed entry before which nothing is known to be broken. */
  readonly intactTo: number
  /**
   * The number of signed entries that no check of the last seven days has read, and the first of
   * them.
   */
  readonly unchecked: number
  readonly firstUnchecked: number
}

export function verdictOf(state: ChainState, nowMs: number): ChainVerdict {
  const { checkpoint, faults } = state
  const sealed = checkpoint?.sequence ?? 0
  const ranges = freshRanges(state, nowMs)
  let unchecked = 0
  let next = 1
  for (const { from, to } of ranges) {
    unchecked += Math.max(0, Math.min(from - 1, sealed) - next + 1)
    next = Math.max(next, to + 1)
  }
  unchecked += Math.max(0, sealed - next + 1)
  const [fault] = faults
  return {
    // Green only if it was checked since it was written.
    tone: fault !== undefined ? "broken" : unchecked >= sealed ? "neutral" : "intact",
    intactTo: fault === undefined ? sealed : Math.min(sealed, fault.sequence - 1),
    unchecked,
    firstUnchecked: uncheckedFrom(ranges, 1),
  }
}

const cellsMax = 44

/** Entries of a cell: a power of two, so that a chain that grows keeps its cells for long. */
export function cellSizeOf(size: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(size / cellsMax)))
}

export function cellsOf(state: ChainState, nowMs: number): readonly Cell[] {
  const { size, archived } = state
  const each = cellSizeOf(size)
  const ranges = freshRanges(state, nowMs)
  return Array.from({ length: Math.ceil(size / each) }, (_, at) => {
    const [from, to] = [at * each + 1, Math.min((at + 1) * each, size)]
    return { from, to, state: stateOf(state, ranges, from, to), isArchived: to <= archived }
  })
}

function stateOf(
  { faults, checking }: ChainState,
  ranges: readonly CheckedRange[],
  from: number,
  to: number,
): CellState {
  const first = Math.min(...faults.map(({ sequence }) => sequence))
  if (faults.some(({ sequence }) => from <= sequence && sequence <= to)) return "broken"
  if (from > first) return "after"
  const next = uncheckedFrom(ranges, from)
  if (next > to) return "verified"
  return checking && next > from ? "checking" : "unchecked"
}

/** Oldest entries first. */
function freshRanges({ checked }: ChainState, nowMs: number): readonly CheckedRange[] {
  return checked
    .filter(({ checkedAt }) => nowMs - Date.parse(checkedAt) < freshMs)
    .toSorted((one, other) => one.from - other.from)
}

/** The first entry from there on that is in none of the ranges, which may overlap. */
function uncheckedFrom(ranges: readonly CheckedRange[], from: number): number {
  return ranges.reduce(
    (next, range) => (range.from <= next ? Math.max(next, range.to + 1) : next),
    from,
  )
}
