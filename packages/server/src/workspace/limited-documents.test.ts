import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { hasCode } from "../ledger/test-ledger.ts"
import { expectChain } from "../store/expect-chain.ts"
import { createKeys } from "./api-keys.ts"
import { createPolicies } from "./policies.ts"
import { createTokens } from "./scoped-tokens.ts"
import { instance, openTestHouse } from "./test-house.ts"

const key = { name: "till", scopes: ["write"] } as const
const receipt = { type: "receipt", receipt: "rcp_1" } as const

test("a workspace has a limited number of keys, also with concurrent requests", async () => {
  const { journal, parts, workspaces } = openTestHouse({ limits: { apiKeysMax: 3 } })
  const [acme, other] = [
    await workspaces.create(instance, { id: "acme" }),
    await workspaces.create(instance, { id: "other" }),
  ]
  const keys = createKeys(parts)
  const made = await Promise.allSettled([1, 2, 3, 4, 5].map(() => keys.create(instance, acme, key)))
  assert.deepEqual(
    made.map(({ status }) => status),
    ["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"],
  )
  await assert.rejects(keys.create(instance, acme, key), {
    code: "conflict",
    detail: "a workspace has 3 API keys at most, ended ones included",
  })
  await keys.create(instance, other, key)
  for (const { id } of [acme, other]) await expectChain(journal, id)
})

test("what a workspace has beyond the limit stays, and a token counts after its end", async () => {
  const before = openTestHouse()
  const acme = await before.workspaces.create(instance, { id: "acme" })
  const tokensWith = (tokensMax: number) =>
    createTokens({
      ...before.parts,
      limits: { ...before.parts.limits, tokensMax },
      rootKeys: ["the first key of the instance"],
    })
  const made = [
    await tokensWith(2).create(instance, acme, receipt, {}),
    await tokensWith(2).create(instance, acme, receipt, {}),
  ]
  const tokens = tokensWith(1)
  for (const { document } of made) assert.equal(await tokens.stateOf(document), "live")
  for (const { document } of made) await tokens.revoke(instance, acme, document.id)
  await assert.rejects(tokens.create(instance, acme, receipt, {}), hasCode("conflict"))
  await tokensWith(3).create(instance, acme, receipt, {})
  await expectChain(before.journal, "acme")
})

test("a creation that was refused takes no place, and one whose outcome is unknown does", async () => {
  let failure: Error | undefined
  const house = openTestHouse({
    limits: { apiKeysMax: 2 },
    append() {
      if (failure !== undefined) throw failure
    },
  })
  const acme = await house.workspaces.create(instance, { id: "acme" })
  const keys = createKeys(house.parts)
  failure = new LedgerError("storage_full", "the disk is full")
  for (let at = 0; at < 3; at++)
    await assert.rejects(keys.create(instance, acme, key), hasCode("storage_full"))
  failure = new Error("the disk does not answer")
  await assert.rejects(keys.create(instance, acme, key), hasCode("ledger_unavailable"))
  failure = undefined
  await keys.create(instance, acme, key)
  await assert.rejects(keys.create(instance, acme, key), hasCode("conflict"))
  await expectChain(house.journal, "acme")
})

test("a project publishes a limited number of policy versions", async () => {
  const { journal, parts, workspaces } = openTestHouse({ limits: { policyVersionsMax: 2 } })
  const acme = await workspaces.create(instance, { id: "acme" })
  const policies = createPolicies(parts)
  const publish = () =>
    policies.publish(instance, acme, { projectId: "core", sections: [{ title: "Terms" }] })
  await publish()
  await publish()
  await assert.rejects(publish(), {
    code: "conflict",
    detail: "a project has 2 policy versions at most",
  })
  await expectChain(journal, "acme")
})
