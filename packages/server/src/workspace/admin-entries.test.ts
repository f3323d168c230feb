import assert from "node:assert/strict"
import test from "node:test"
import { systemClock } from "../clock.ts"
import { createLedger } from "../ledger/ledger.ts"
import { defaultLimits } from "../limits.ts"
import { firstKeyring } from "../secrets/keyring.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { Change } from "../store/documents.ts"
import { recordPlanned } from "./admin-entries.ts"
import { createWorkspaces } from "./workspaces.ts"

const instance = { kind: "instance" } as const

async function openHouse() {
  const { served } = openMemory()
  const { journal, registry } = served
  const keyring = firstKeyring(Buffer.alloc(32, 3))
  const ledger = createLedger({
    journal,
    registry,
    clock: systemClock,
    limits: defaultLimits,
    keyring,
    report: { commit: () => {}, advanced: () => {} },
  })
  const workspaces = createWorkspaces({
    registry,
    ledger,
    clock: systemClock,
    keyring,
    limits: defaultLimits,
    host: "ledger.example",
  })
  const parts = { ledger, clock: systemClock }
  return { journal, registry, parts, acme: await workspaces.create(instance, { id: "acme" }) }
}

const act = { by: instance, action: "test.project.put", target: { id: "core", type: "project" } }
const value = {
  name: "Core",
  receipts: "private",
  activityLinks: false,
  createdAt: "2026-01-02T03:04:05.678Z",
} as const

test("a plan that creates an existing document without a check fails instead of looping for ever", async () => {
  const { journal, parts, acme } = await openHouse()
  const planned = recordPlanned(parts, acme, async () => {
    return { ...act, changes: [{ kind: "project", id: "core", version: 0, value }] }
  })
  await assert.rejects(planned, /already there/)
  await expectChain(journal, acme.id)
})

test("a plan that checks for its document may lose a race against every other one", async () => {
  const { journal, registry, parts, acme } = await openHouse()
  const put = (id: string) =>
    recordPlanned(parts, acme, async () => {
      const [core, here] = [
        await registry.get("project", acme.id, "core"),
        await registry.get("project", acme.id, id),
      ]
      const created: Change[] =
        here === undefined ? [{ kind: "project", id, version: 0, value }] : []
      return {
        ...act,
        changes: [{ kind: "project", id: "core", version: core?.version ?? 0, value }, ...created],
      }
    })
  const before = (await registry.get("project", acme.id, "core"))?.version ?? 0
  const done = await Promise.all(Array.from({ length: 12 }, (_, at) => put(`other-${at % 3}`)))
  assert.equal(new Set(done.map(({ entries: [{ link }] }) => link.sequence)).size, 12)
  assert.equal((await registry.get("project", acme.id, "core"))?.version, before + 12)
  await expectChain(journal, acme.id)
})

test("many changes of one document at the same time are planned a few times each", async () => {
  const { journal, registry, parts, acme } = await openHouse()
  let plans = 0
  const change = () =>
    recordPlanned(parts, acme, async () => {
      plans += 1
      const core = await registry.get("project", acme.id, "core")
      return {
        ...act,
        changes: [{ kind: "project", id: "core", version: core?.version ?? 0, value }],
      }
    })
  await Promise.all(Array.from({ length: 100 }, change))
  assert.ok(plans <= 300, `${plans} plans`)
  await expectChain(journal, acme.id)
})
