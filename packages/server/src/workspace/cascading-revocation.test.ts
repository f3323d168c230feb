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

test("more keys than may wait for a commit are revoked in several", async () => {
  const { parts, workspaces, journal } = openTestHouse({ limits: { queuedEventsMax: 5 } })
  const acme = await workspaces.create(instance, { id: "acme" })
  const keys = createKeys(parts)
  const request = { name: "stolen", scopes: ["admin"] } as const
  const { document: stolen } = await keys.create(instance, acme, request)
  const by = {
    kind: "api-key",
    id: stolen.id,
    workspace: acme.id,
    scopes: ["admin"],
    projectIds: undefined,
  } as const
  for (let count = 0; count < 12; count++) await keys.create(by, acme, request)
  const { keys: ended } = await createCascade(parts).revoke(instance, acme, stolen.id)
  assert.equal(ended.length, 12)
  const all = await parts.registry.list("api-key", acme.id, undefined, 100)
  assert.deepEqual(
    all.map(({ value }) => value.revokedAt === undefined),
    Array(13).fill(false),
  )
  await expectChain(journal, acme.id)
})
