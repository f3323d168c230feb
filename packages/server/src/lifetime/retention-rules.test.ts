import assert from "node:assert/strict"
import test from "node:test"
import { consentAction, withdrawalAction } from "../ledger/consent.ts"
import type { Lane, RetentionRule } from "../store/documents.ts"
import { ruleOf } from "./retention-rules.ts"

test("a withdrawal is kept at least as long as the consents that it may end", () => {
  const of = (action: string, ...rules: readonly RetentionRule[]) =>
    ruleOf(rules, { kind: "consent", projectId: "core", lane: "policy", action })
  const withdrawals = (days: number) => ({ action: withdrawalAction, days })
  const consents = (days: number) => ({ action: "policy.consent", days })
  assert.equal(of(withdrawalAction, withdrawals(30)), undefined)
  assert.equal(of(withdrawalAction, withdrawals(30), consents(400)), 1)
  assert.equal(of(withdrawalAction, withdrawals(400), consents(30)), 0)
  assert.equal(of(withdrawalAction, consents(30)), 0)
  assert.equal(of(withdrawalAction, { action: consentAction, days: 30 }), undefined)
  assert.equal(of(consentAction, withdrawals(30), consents(400)), 1)
  // Rules of lanes may have put the consents into another lane.
  const ofLane = (lane: Lane, days: number) => ({ ...consents(days), lane })
  assert.equal(of(withdrawalAction, ofLane("policy", 30), consents(400)), 1)
  assert.equal(of(withdrawalAction, ofLane("policy", 400), consents(30)), 0)
  assert.equal(of(withdrawalAction, ofLane("policy", 30), ofLane("data", 400)), undefined)
  assert.equal(of(withdrawalAction, ofLane("policy", 30)), undefined)
  assert.equal(of(withdrawalAction, ofLane("data", 500), withdrawals(30), consents(400)), 0)
})
