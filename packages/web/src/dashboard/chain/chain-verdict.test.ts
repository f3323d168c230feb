import assert from "node:assert/strict"
import test from "node:test"
import type { ChainState, CheckedRange } from "@tallystick/client/wire"
import { weekMs } from "../../parts/spans.ts"
import { cellsOf, verdictOf } from "./chain-verdict.ts"

function range(from: number, to: number, agoMs = 0): CheckedRange {
  return { from, to, checkedAt: new Date(-agoMs).toISOString() }
}

/** Ten of twelve entries are signed. */
function stateOf(checked: readonly CheckedRange[], ...broken: readonly number[]): ChainState {
  const faults = broken.map((sequence) => ({ sequence }))
  // Its other members are not used.
  return { checkpoint: { sequence: 10 }, size: 12, checked, faults } as unknown as ChainState
}

test("a chain is called intact only as far as it was checked in the last week", () => {
  for (const [state, tone, intactTo, unchecked, firstUnchecked] of [
    [stateOf([range(1, 12, weekMs - 1)]), "intact", 10, 0, 13],
    [stateOf([range(1, 10, weekMs)]), "neutral", 10, 10, 1],
    [stateOf([range(6, 8), range(1, 3)]), "intact", 10, 4, 4],
    [stateOf([range(1, 6), range(2, 4), range(9, 12)]), "intact", 10, 2, 7],
    [stateOf([range(1, 10)], 8), "broken", 7, 0, 11],
  ] as const)
    assert.deepEqual(verdictOf(state, 0), { tone, intactTo, unchecked, firstUnchecked })
})

test("a cell is called verified only if all of it was checked, and before the first fault", () => {
  const checked = [range(1, 4), range(7, 12)]
  for (const [state, cells] of [
    [stateOf(checked), "vvvvuuvvvvvv"],
    [stateOf(checked, 9, 11), "vvvvuuvvbaba"],
    [{ ...stateOf([range(1, 5)]), size: 90, checking: true }, `vc${"u".repeat(21)}`],
  ] as const)
    assert.equal(
      cellsOf(state, 0).reduce((all, cell) => all + cell.state[0], ""),
      cells,
    )
})
