import assert from "node:assert/strict"
import test from "node:test"
import { readConsents, type ConsentAct, type ConsentState } from "./consent-state.ts"
import { createChance, seedOf } from "../../../../test/chance.ts"

interface Act extends ConsentAct {
  readonly at: number
}

function stateOf(acts: readonly Act[]): ConsentState<Act> {
  const read = readConsents<Act>()
  for (const act of acts.toReversed()) {
    const state = read.take(act)
    if (state !== undefined) return state
  }
  return read.end()
}

/** The same state, computed from the oldest act on, with a list of valid consents. */
function plainStateOf(acts: readonly Act[]): ConsentState<Act> {
  let standing: Act[] = []
  for (const act of acts) {
    const { isWithdrawal, policyVersion } = act
    if (!isWithdrawal) standing.push(act)
    else
      standing = standing.filter(
        (given) => policyVersion !== undefined && (given.policyVersion ?? 0) > policyVersion,
      )
  }
  const consent = standing.at(-1)
  if (consent !== undefined) return { state: "given", consent, withdrawal: undefined }
  const withdrawal = acts.findLast((act) => act.isWithdrawal)
  const given = acts.findLast((act) => !act.isWithdrawal)
  return withdrawal === undefined
    ? { state: "none", consent: undefined, withdrawal: undefined }
    : { state: "withdrawn", consent: given, withdrawal }
}

const give = (policyVersion: number, at = 0): Act => ({ isWithdrawal: false, policyVersion, at })
const withdraw = (policyVersion?: number, at = 0): Act => ({
  isWithdrawal: true,
  policyVersion,
  at,
})

test("a withdrawal ends the version that it names and the earlier ones, or all", () => {
  const states = [
    [],
    [give(1)],
    [give(1), withdraw()],
    [give(1), withdraw(), give(1)],
    [give(1), give(2), withdraw(2)],
    [give(1), give(2), withdraw(1)],
    [give(2), give(1), withdraw(1)],
    [withdraw(3)],
  ].map((acts) => stateOf(acts).state)
  assert.deepEqual(states, [
    "none",
    "given",
    "withdrawn",
    "given",
    "withdrawn",
    "given",
    "given",
    "withdrawn",
  ])
})

test("reading acts from the newest on gives the same state as a list of valid consents", (t) => {
  const { below } = createChance(seedOf(t))
  for (let round = 0; round < 3000; round++) {
    const acts = Array.from({ length: below(9) }, (_, at) =>
      below(2) === 0 ? give(1 + below(4), at) : withdraw(below(4) || undefined, at),
    )
    assert.deepEqual(stateOf(acts), plainStateOf(acts), JSON.stringify(acts))
  }
})
