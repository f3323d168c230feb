import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { disclosuresOf, openEntry } from "../store/opened-entry.ts"
import { createSigners } from "../followers/signer.ts"
import { hasCode, testKeyring } from "../ledger/test-ledger.ts"
import { epochsOf } from "../store/epochs.ts"
import { expectChain } from "../store/expect-chain.ts"
import type { Principal } from "./permissions.ts"
import { createProjects } from "./projects.ts"
import { instance, openTestHouse } from "./test-house.ts"
import { native } from "../../../../test/native.ts"

const someKey: Principal = {
  kind: "api-key",
  id: "0123456789abc",
  workspace: "acme",
  scopes: ["admin"],
  projectIds: undefined,
}

function openHouse() {
  let counted = 0
  const { journal, registry, clock, parts, workspaces } = openTestHouse({
    limits: { projectsMax: 3 },
    registry: (kept) => ({ ...kept, count: (...asked) => (counted++, kept.count(...asked)) }),
  })
  return {
    journal,
    registry,
    clock,
    workspaces,
    projects: createProjects(parts),
    /** How often projects were counted, which takes longer the more there are. */
    counted: () => counted,
    /** The workspace's entries in clear, in order. */
    async entries(workspace: string) {
      const stored = await journal.after(workspace, 0, 1000)
      return stored.map(
        (entry) =>
          openEntry(entry, disclosuresOf(entry)) ?? assert.fail("an entry cannot be opened"),
      )
    },
  }
}

test("a workspace begins with its genesis, its signing key and a first project, in one commit that records them", async () => {
  const house = openHouse()
  const acme = await house.workspaces.create(instance, { id: "acme", name: "Acme", hotDays: 30 })
  const { genesis, ledgerId, origin, ...settings } = acme.value
  assert.equal(createHash("sha256").update(`ALG1${genesis}`).digest("hex"), ledgerId)
  const said = JSON.parse(genesis)
  assert.deepEqual(
    { ...said, nonce: Buffer.from(said.nonce, "base64url").length },
    { createdAt: "2026-01-02T00:00:00.000Z", nonce: 16, origin, v: 1, workspaceId: "acme" },
  )
  assert.match(origin, /^ledger\.example\/ledgers\/[0-9a-z]{22}$/)
  assert.deepEqual(settings, {
    name: "Acme",
    createdAt: "2026-01-02T00:00:00.000Z",
    policyVisibility: "private",
    projects: "open",
    transparency: "private",
    hotDays: 30,
    requirePublishedPolicy: false,
    personalKeys: [],
    laneRules: [],
  })

  const entries = await house.entries("acme")
  assert.deepEqual(
    entries.map(({ kind, content }) => [
      kind,
      content.action,
      content.projectId,
      content.source,
      content.actor.type,
    ]),
    [
      ["admin", "workspace.create", "system", "system", "instance"],
      ["admin", "project.create", "system", "system", "instance"],
    ],
  )
  assert.deepEqual(entries[0]?.content.metadata["genesis"], said)
  assert.equal(Buffer.from(entries[0]?.link.previousHash ?? []).toString("hex"), ledgerId)
  assert.equal((await house.projects.find("acme", "core"))?.value.receipts, "private")

  // Entry 1 names the signing key, and nothing that is recorded or stored reveals its private half.
  const vkey = entries[0]?.content.metadata["vkey"] as string
  const [, name, keyId, typed] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(vkey) ?? []
  const raw = Buffer.from(typed ?? "", "base64").subarray(1)
  assert.equal(name, origin)
  assert.equal(
    createHash("sha256").update(`${origin}\n\x01`).update(raw).digest("hex").slice(0, 8),
    keyId,
  )
  const [epoch] = epochsOf(await house.workspaces.get("acme"))
  const [signer] = await createSigners({ ...house, keyring: testKeyring })(epoch, 1, 0)
  const text = Buffer.from("text")
  assert.ok(native.verify(signer?.sign(text) ?? Buffer.of(), text, raw))
  const { ledgerId: recomputed } = await expectChain(house.journal, "acme")
  assert.equal(recomputed, ledgerId)
})

test("genesis and key are in clear in entry 1, even if all metadata is personal", async () => {
  const house = openHouse()
  await house.workspaces.create(instance, { id: "acme", personalKeys: ["*"] })
  const [first] = await house.journal.at("acme", [1])
  const body = JSON.parse(Buffer.from(first?.body ?? []).toString("utf8"))
  assert.equal(typeof body.metadata?.vkey, "string")
  assert.equal(typeof body.metadata?.genesis, "object")
  await expectChain(house.journal, "acme")
})

test("at the limit, projects of a workspace are counted once for any number of requests", async () => {
  const house = openHouse()
  const acme = await house.workspaces.create(instance, { id: "acme" })
  const ensure = (id: string) =>
    house.projects.ensure(someKey, acme, id, {
      route: "/v1/events",
      key: `key of an event of ${id}`,
    })
  await Promise.all([ensure("second"), ensure("third")])
  for (const id of ["fourth", "fifth", "sixth"])
    await assert.rejects(ensure(id), hasCode("invalid_field"))
  await ensure("third")
  assert.equal(house.counted(), 1)
  const { value } = acme
  const larger = { ...acme, value: { ...value, projectsMax: 4 } }
  await house.projects.create(instance, larger, { id: "fourth" })
  await assert.rejects(
    house.projects.create(instance, larger, { id: "fifth" }),
    hasCode("invalid_field"),
  )
  assert.equal((await house.projects.list("acme", undefined, 10)).length, 4)
  assert.equal(house.counted(), 1)
  await expectChain(house.journal, "acme")
})
