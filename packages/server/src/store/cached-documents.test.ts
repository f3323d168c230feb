import assert from "node:assert/strict"
import test from "node:test"
import { cacheRegistry } from "./cached-documents.ts"
import { apiKey, entriesAfter, genesisOf, project, write } from "./contract/written-entries.ts"
import type { PolicyDocument, Change } from "./documents.ts"
import { expectChain } from "./expect-chain.ts"
import { openMemory } from "./memory.ts"

/** A cache over a store in memory, and how often it has asked the store. */
function openCached() {
  const { served } = openMemory()
  const { registry } = served
  const counts = { get: 0, workspaceOf: 0 }
  const cached = cacheRegistry({
    ...registry,
    get: (...asked) => (counts.get++, registry.get(...asked)),
    workspaceOf: (...asked) => (counts.workspaceOf++, registry.workspaceOf(...asked)),
  })
  return { served, cached, counts }
}

test("a document is read once, and again after it was changed", async () => {
  const { served, cached, counts } = openCached()
  assert.equal(await cached.get("project", "acme", "p"), undefined)
  const made = project("p", 0, "one")
  await write(served, "acme", ["a"], [made])
  cached.forget("acme", [made])
  for (const _ of [1, 2, 3]) {
    assert.equal((await cached.get("project", "acme", "p"))?.value.name, "one")
  }
  assert.equal(counts.get, 2)
  const changed = project("p", 1, "two")
  await write(served, "acme", ["b"], [changed])
  cached.forget("acme", [changed])
  assert.equal((await cached.get("project", "acme", "p"))?.value.name, "two")
  await expectChain(served.journal, "acme")
})

test("that a workspace destroys nothing is read once, and again after it does", async () => {
  const { served, cached, counts } = openCached()
  const read = async () => (await cached.get("retention-state", "acme", "state"))?.value.holds
  for (const _ of [1, 2, 3]) assert.equal(await read(), undefined)
  assert.equal(counts.get, 1)
  const state: Change = { kind: "retention-state", id: "state", version: 0, value: { holds: 1 } }
  await write(served, "acme", ["a"], [state])
  cached.forget("acme", [state])
  for (const _ of [1, 2]) assert.equal(await read(), 1)
  assert.equal(counts.get, 2)
  await expectChain(served.journal, "acme")
})

test("a cached registry is as stale as the one behind it may be", () => {
  const { served } = openMemory()
  for (const staleMsMax of [0, 250])
    assert.equal(cacheRegistry({ ...served.registry, staleMsMax }).staleMsMax, staleMsMax)
})

test("a credential's workspace is cached once it exists, because it never changes", async () => {
  const { served, cached, counts } = openCached()
  for (const _ of [1, 2]) assert.equal(await cached.workspaceOf("api-key", "k"), undefined)
  await write(served, "acme", ["a"], [apiKey("k", 0)])
  for (const _ of [1, 2]) assert.equal(await cached.workspaceOf("api-key", "k"), "acme")
  assert.equal(counts.workspaceOf, 3)
  await expectChain(served.journal, "acme")
})

test("the cache is bounded by memory, not by the number of documents or the length of their text", async () => {
  const texts = ["x".repeat(4 * 1024 * 1024)]
  const tinyParts = Array.from({ length: 100_000 }, () => [])
  for (const many of [texts, tinyParts]) {
    const { served, cached, counts } = openCached()
    const policies = Array.from({ length: 16 }, (_, at) => policy(`core:${at}`, many))
    await write(served, "acme", ["a"], [project("p", 0, "small"), ...policies])
    const readsOf = async (kind: "policy" | "project", id: string) => {
      const before = counts.get
      assert.ok(await cached.get(kind, "acme", id))
      return counts.get - before
    }
    const [first = assert.fail(), second = assert.fail()] = policies
    for (const reads of [1, 0]) {
      assert.equal(await readsOf("project", "p"), reads)
      assert.equal(await readsOf("policy", first.id), reads)
      assert.equal(await readsOf("policy", second.id), reads)
    }
    for (const { id } of policies) await readsOf("policy", id)
    assert.deepEqual(
      [await readsOf("policy", first.id), await readsOf("project", "p")],
      [1, 1],
      "it was forgotten, to make room",
    )
    assert.equal(await readsOf("policy", first.id), 0, "and is remembered again")
    await expectChain(served.journal, "acme")
  }
})

test("a read that began before a change is not cached after it", async () => {
  const { served } = openMemory()
  const { entries } = entriesAfter("acme", genesisOf("acme"), ["a"])
  const made = project("p", 0, "one")
  await served.journal.append({
    workspace: "acme",
    from: genesisOf("acme"),
    entries,
    changes: [made],
  })
  let answerLate = () => {}
  const late = new Promise<void>((resolve) => (answerLate = resolve))
  const cached = cacheRegistry({
    ...served.registry,
    async get(...asked) {
      const found = await served.registry.get(...asked)
      await late
      return found
    },
  })
  const asking = cached.get("project", "acme", "p")
  const changed = project("p", 1, "two")
  await write(served, "acme", ["b"], [changed])
  cached.forget("acme", [changed])
  answerLate()
  assert.equal((await asking)?.value.name, "one", "it was so when it was asked")
  assert.equal((await cached.get("project", "acme", "p"))?.value.name, "two")
  await expectChain(served.journal, "acme")
})

function policy(id: string, many: readonly unknown[]): Change {
  // For the registry, the sections of a policy are any JSON.
  const sections = [{ many }] as unknown as PolicyDocument["sections"]
  const value = {
    policyId: id,
    projectId: "core",
    version: 1,
    publishedAt: "2026-01-01T00:00:00Z",
    sectionHash: "",
    sections,
  }
  return { kind: "policy", id, version: 0, value }
}
