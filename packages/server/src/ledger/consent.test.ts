import assert from "node:assert/strict"
import test from "node:test"
import { consentDraft, withdrawalDraft } from "./consent.ts"
import { laneOf } from "./lane.ts"

test("a consent is an entry about its subject, in the lane policy, with the service's time", () => {
  const said = consentDraft(
    {
      subject: { id: "usr_1", email: "ada@example.com" },
      mode: "explicit",
      policyVersion: 3,
      surface: "sign-up",
      projectId: "core",
      metadata: { campaign: "spring" },
    },
    Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  )
  assert.deepEqual(said, {
    kind: "consent",
    projectId: "core",
    action: "policy.consent.record",
    actor: { id: "usr_1", email: "ada@example.com", type: "subject" },
    target: { id: "core:3", type: "policy", name: "Policy version 3" },
    occurredAt: "2026-01-02T03:04:05.006Z",
    source: "api",
    userVisible: true,
    metadata: { campaign: "spring", mode: "explicit", surface: "sign-up", policyVersion: 3 },
    policyVersion: 3,
    receivedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  })
  assert.equal(laneOf(said.action, []), "policy")
})

test("a withdrawal names a version or the whole policy", () => {
  const asked = { subject: { id: "usr_1" }, surface: "settings", projectId: "core", metadata: {} }
  const all = withdrawalDraft(asked, 0)
  assert.deepEqual(
    [all.action, all.actor, all.target, all.metadata, all.policyVersion],
    [
      "policy.consent.withdraw",
      { id: "usr_1", type: "subject" },
      { id: "core", type: "policy", name: "Policy" },
      { surface: "settings" },
      undefined,
    ],
  )
  const one = withdrawalDraft({ ...asked, policyVersion: 2 }, 0)
  assert.deepEqual(
    [one.target.id, one.metadata, one.policyVersion],
    ["core:2", { surface: "settings", policyVersion: 2 }, 2],
  )
})
