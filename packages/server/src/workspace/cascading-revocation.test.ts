import assert from "node:assert/strict"
import test from "node:test"
import { setImmediate } from "node:timers/promises"
import { expectChain } from "../store/expect-chain.ts"
import { createKeys } from "./api-keys.ts"
import { createCascade } from "./cascading-revocation.ts"
import { instance, openTestHouse } from "./test-house.ts"

test("a workspace reads its keys for one revocation at a time", async () => {
  let [reading, most] = [0, 0]
  const { parts, workspaces, journal } = openTestHouse({
    registry: (registry) => ({
      ...registry,
      async list(...asked) {
        most = Math.max(most, ++reading)
        await setImmediate()
        reading -= 1
        return registry.list(...asked)
      },
    }),
  })
  const acme = await workspaces.create(instance, { id: "acme" })
  const keys = createKeys(parts)
  const request = { name: "stolen", scopes: ["admin"] } as const
  const made = await Promise.all(
    Array.from({ length: 10 }, () => keys.create(instance, acme, request)),
  )
  const cascade = createCascade(parts)
  await Promise.all(made.map(({ document: { id } }) => cascade.revoke(instance, acme, id)))
  await Promise.all(made.map(({ document: { id } }) => cascade.madeBy(acme.id, id)))
  assert.equal(most, 1)
  await expectChain(journal, acme.id)
})
