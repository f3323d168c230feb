import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { disclosuresOf, openEntry } from "../store/opened-entry.ts"
import { createSigners } from "../followers/signer.ts"
import { hasCode, testKeyring } from "../ledger/test-ledger.ts"
import { epochsOf } from "../store/epochs.ts"
import { expectChain } from "../store/expect-chain.ts"
import type { Principal } from "./permissions.ts"
import { createAuthenticate } from "./credential-lookup.ts"
import { createKeys } from "./api-keys.ts"
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
const rootKey = "a-root-key-of-more-than-32-characters"

function openHouse() {
  let counted = 0
  const { journal, registry, clock, parts, workspaces } = openTestHouse({
    limits: { projectsMax: 3 },
    registry: (kept) => ({ ...kept, count: (...asked) => (counted++, kept.count(...asked)) }),
  })
  const keys = createKeys(parts)
  return {
    journal,
    registry,
    clock,
    workspaces,
    projects: createProjects(parts),
    keys,
    /** How often projects were counted, which takes longer the more there are. */
    counted: () => counted,
    authenticate: createAuthenticate([rootKey], { k: keys.recognise }),
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

test("of many concurrent requests to create one workspace one succeeds, with its ledger", async () => {
  const house = openHouse()
  const made = await Promise.allSettled(
    [1, 2, 3, 4].map((at) =>
      house.workspaces.create(instance, { id: "acme", name: `number ${at}` }),
    ),
  )
  assert.equal(made.filter(({ status }) => status === "fulfilled").length, 1)
  for (const one of made)
    if (one.status === "rejected") assert.ok(hasCode("conflict")(one.reason), String(one.reason))
  await assert.rejects(house.workspaces.create(instance, { id: "acme" }), hasCode("conflict"))
  const { ledgerId, size } = await expectChain(house.journal, "acme")
  assert.equal(size, 2)
  assert.equal((await house.workspaces.get("acme")).value.ledgerId, ledgerId)
  await assert.rejects(house.workspaces.get("other"), hasCode("not_found"))
})

test("each change of a setting is recorded, and concurrent changes are not lost", async () => {
  const house = openHouse()
  await house.workspaces.create(instance, { id: "acme" })
  await Promise.all([
    house.workspaces.change(someKey, "acme", { hotDays: 1 }),
    house.workspaces.change(instance, "acme", { personalKeys: ["ssn"] }),
    house.workspaces.change(instance, "acme", { name: "Acme", transparency: "public" }),
  ])
  const { value, version } = await house.workspaces.get("acme")
  assert.deepEqual(
    [value.hotDays, value.personalKeys, value.name, value.transparency, version],
    [1, ["ssn"], "Acme", "public", 4],
  )
  const changes = (await house.entries("acme"))
    .slice(2)
    .map(({ content }) => [content.action, content.actor.id, content.metadata])
  assert.deepEqual(
    new Set(changes.map((change) => JSON.stringify(change))),
    new Set([
      JSON.stringify(["workspace.update", "0123456789abc", { hotDays: 1 }]),
      JSON.stringify(["workspace.update", "instance", { personalKeys: ["ssn"] }]),
      JSON.stringify(["workspace.update", "instance", { name: "Acme", transparency: "public" }]),
    ]),
  )
  await assert.rejects(
    house.workspaces.change(instance, "other", { hotDays: 1 }),
    hasCode("not_found"),
  )
  await expectChain(house.journal, "acme")
})

test("workspaces are listed newest first", async () => {
  const house = openHouse()
  for (const id of ["a", "b", "c"]) await house.workspaces.create(instance, { id })
  const page = await house.registry.list("workspace", undefined, undefined, 2)
  assert.deepEqual(
    page.map(({ id }) => id),
    ["c", "b"],
  )
  assert.deepEqual(
    (await house.registry.list("workspace", undefined, page.at(-1), 2)).map(({ id }) => id),
    ["a"],
  )
  for (const id of ["a", "b", "c"]) await expectChain(house.journal, id)
})

test("a project is created once, its changes are recorded, and an event with a new name creates one", async () => {
  const house = openHouse()
  const acme = await house.workspaces.create(instance, { id: "acme" })
  const shop = await house.projects.create(instance, acme, { id: "shop", receipts: "public" })
  assert.deepEqual(shop.value, {
    name: "shop",
    receipts: "public",
    activityLinks: false,
    createdAt: "2026-01-02T00:00:00.000Z",
  })
  await assert.rejects(house.projects.create(instance, acme, { id: "shop" }), hasCode("conflict"))
  await Promise.all([
    house.projects.change(instance, acme, "shop", { name: "Shop" }),
    house.projects.change(instance, acme, "shop", { activityLinks: true }),
  ])
  const changed = await house.projects.find("acme", "shop")
  assert.deepEqual(
    [changed?.value.name, changed?.value.activityLinks, changed?.value.receipts, changed?.version],
    ["Shop", true, "public", 3],
  )
  await assert.rejects(house.projects.change(instance, acme, "none", {}), hasCode("not_found"))

  // Many events with one new project at once: it is made once, and none of them fails.
  const write = { route: "/v1/events", key: "a-key-that-nothing-has" } as const
  await Promise.all(
    Array.from({ length: 10 }, () => house.projects.ensure(someKey, acme, "fresh", write)),
  )
  await house.projects.ensure(someKey, acme, "fresh", write)
  assert.equal((await house.projects.find("acme", "fresh"))?.version, 1)
  const closed = await house.workspaces.change(instance, "acme", { projects: "closed" })
  await house.projects.ensure(someKey, closed, "fresh", write)
  await assert.rejects(
    house.projects.ensure(someKey, closed, "unknown", write),
    hasCode("not_found"),
  )
  const page = await house.projects.list("acme", undefined, 10)
  assert.deepEqual(
    page.map(({ id }) => id),
    ["fresh", "shop", "core"],
  )
  const acts = (await house.entries("acme")).map(
    ({ content }) => `${content.action} ${content.target.id}`,
  )
  assert.deepEqual(acts, [
    "workspace.create acme",
    "project.create core",
    "project.create shop",
    "project.update shop",
    "project.update shop",
    "project.create fresh",
    "workspace.update acme",
  ])
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

test("a key is shown once, is recognised only by its secret, and ends at its expiry or revocation", async () => {
  const house = openHouse()
  const acme = await house.workspaces.create(instance, { id: "acme" })
  const { key, document } = await house.keys.create(instance, acme, {
    name: "till",
    scopes: ["write", "read"],
    projectIds: ["core"],
    expiresInSeconds: 60,
  })
  const expected = {
    kind: "api-key",
    id: document.id,
    workspace: "acme",
    scopes: ["write", "read"],
    projectIds: ["core"],
  }
  assert.deepEqual(await house.authenticate(key), expected)
  const { key: lasting, document: other } = await house.keys.create(someKey, acme, {
    name: "desk",
    scopes: ["admin"],
  })
  assert.deepEqual(await house.authenticate(lasting), {
    kind: "api-key",
    id: other.id,
    workspace: "acme",
    scopes: ["admin"],
    projectIds: undefined,
  })
  assert.deepEqual(
    (await house.registry.list("api-key", "acme", undefined, 10)).map(({ id }) => id),
    [other.id, document.id],
  )

  // Another kind, the secret of another key, a typing error, or no credential at all: the answer is
  // the same.
  const { key: stranger } = await openHouse().keys.create(instance, acme, {
    name: "stranger",
    scopes: ["admin"],
  })
  for (const wrong of [
    stranger,
    `${key.slice(0, -1)}${key.endsWith("0") ? 1 : 0}`,
    `tsr${key.slice(3)}`,
    "",
    "instance",
    rootKey.slice(1),
    `${rootKey} `,
  ]) {
    await assert.rejects(house.authenticate(wrong), hasCode("unauthorized"))
  }
  assert.deepEqual(await house.authenticate(rootKey), { kind: "instance" })

  house.clock.nowMs += 59_999
  assert.deepEqual(await house.authenticate(key), expected)
  house.clock.nowMs += 1
  await assert.rejects(house.authenticate(key), hasCode("token_expired"))
  await Promise.all([1, 2, 3].map(() => house.keys.revoke(someKey, acme, other.id)))
  await house.keys.revoke(instance, acme, other.id)
  await house.keys.revoke(instance, acme, "0000000000000")
  await assert.rejects(house.authenticate(lasting), hasCode("token_revoked"))
  await house.keys.revoke(instance, acme, document.id)
  await assert.rejects(
    house.authenticate(key),
    hasCode("token_revoked"),
    "revoked says more than expired",
  )

  const acts = (await house.entries("acme"))
    .slice(2)
    .map(({ content }) => [content.action, content.actor.id, content.target.id])
  assert.deepEqual(acts, [
    ["security.key.create", "instance", document.id],
    ["security.key.create", "0123456789abc", other.id],
    ["security.key.revoke", "0123456789abc", other.id],
    ["security.key.revoke", "instance", document.id],
  ])
  // Neither the ledger nor the registry holds a secret.
  const kept = JSON.stringify([
    await house.entries("acme"),
    await house.registry.list("api-key", "acme", undefined, 10),
    await house.registry.list("log-key", "acme", undefined, 10),
  ])
  for (const shown of [key, lasting])
    assert.ok(!kept.includes(shown.slice(18, -6)), "a secret was kept")
  await expectChain(house.journal, "acme")
})
