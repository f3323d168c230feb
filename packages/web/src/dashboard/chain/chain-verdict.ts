// What may be said of a chain: no more than what the service has checked, and when.

import type { ChainState } from "@tallystick/client/wire"

/** What was checked longer ago counts as not checked. */
const freshMs = 7 * 86_400_000

export type CellState = "verified" | "checking" | "unchecked" | "broken" | "after"

export interface Cell {
  readonly from: number
  readonly to: number
  readonly state: CellState
  readonly isArchived: boolean
}

export interface ChainVerdict {
  readonly tone: "intact" | "broken" | "neutral"
  /** The last entry that is signed for, and before which nothing is known to be broken. */
  readonly intactTo: number
  /** How many sealed entries no check of the last seven days has read, and the first of them. */
  readonly unchecked: number
  readonly firstUnchecked: number
}

export function verdictOf(state: ChainState, nowMs: number): ChainVerdict {
  const { checkpoint, faults, checked } = state
  const sealed = checkpoint?.sequence ?? 0
  const ranges = checked.filter(({ checkedAt }) => isFresh(checkedAt, nowMs))
  const fresh = ranges.reduce(
    (sum, { from, to }) => sum + Math.max(0, Math.min(to, sealed) - from + 1),
    0,
  )
  const firstUnchecked = ranges.reduce((next, { from, to }) => (from <= next ? to + 1 : next), 1)
  const [fault] = faults
  return {
    tone: fault !== undefined ? "broken" : sealed === 0 ? "neutral" : "intact",
    intactTo: fault === undefined ? sealed : Math.min(sealed, fault.sequence - 1),
    unchecked: sealed - fresh,
    firstUnchecked,
  }
}

function isFresh(checkedAt: string, nowMs: number): boolean {
  return nowMs - Date.parse(checkedAt) < freshMs
}

/** Entries of a cell: a power of two, so that a chain that grows keeps its cells for long. */
export function cellSizeOf(size: number, cellsMax: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(size / cellsMax)))
}

export function cellsOf(state: ChainState, cellsMax: number, nowMs: number): readonly Cell[] {
  const { size, archived } = state
  const each = cellSizeOf(size, cellsMax)
  return Array.from({ length: Math.ceil(size / each) }, (_, at) => {
    const [from, to] = [at * each + 1, Math.min((at + 1) * each, size)]
    return { from, to, state: stateOf(state, from, to, nowMs), isArchived: to <= archived }
  })
}

function stateOf(state: ChainState, from: number, to: number, nowMs: number): CellState {
  const { faults, checked, checking } = state
  const first = Math.min(...faults.map(({ sequence }) => sequence))
  if (faults.some(({ sequence }) => from <= sequence && sequence <= to)) return "broken"
  if (from > first) return "after"
  const ranges = checked.filter(({ checkedAt }) => isFresh(checkedAt, nowMs))
  if (ranges.some((range) => range.from <= from && to <= range.to)) return "verified"
  // Several ranges may cover a cell together.
  const covered = ranges.reduce(
    (sum, range) => sum + Math.max(0, Math.min(range.to, to) - Math.max(range.from, from) + 1),
    0,
  )
  if (covered >= to - from + 1) return "verified"
  const [walking] = checked
  return checking && walking !== undefined && from <= walking.to + 1 && walking.to < to
    ? "checking"
    : "unchecked"
}
