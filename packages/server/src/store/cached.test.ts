import assert from "node:assert/strict"
import test from "node:test"
import { cacheRegistry } from "./cached.ts"
import { entriesAfter, genesisOf, project, write } from "./contract.ts"
import { expectChain } from "./expect-chain.ts"
import { openMemory } from "./memory.ts"

test("a document is read once, and again after it was changed", async () => {
  const { served } = openMemory()
  let reads = 0
  const cached = cacheRegistry({
    ...served.registry,
    get: (...asked) => (reads++, served.registry.get(...asked)),
    find: (...asked) => (reads++, served.registry.find(...asked)),
  })
  assert.equal(await cached.get("project", "acme", "p"), undefined)
  const made = project("acme", "p", 0, "one")
  await write(served, "acme", ["a"], [made])
  cached.forget([made])
  for (const _ of [1, 2, 3]) {
    assert.equal((await cached.get("project", "acme", "p"))?.value.name, "one")
    assert.equal((await cached.find("project", "p"))?.value.name, "one")
  }
  assert.equal(reads, 3)
  const changed = project("acme", "p", 1, "two")
  await write(served, "acme", ["b"], [changed])
  cached.forget([changed])
  assert.equal((await cached.get("project", "acme", "p"))?.value.name, "two")
  assert.equal((await cached.find("project", "p"))?.value.name, "two")
  await expectChain(served.journal, "acme")
})

test("an answer that was asked for before a change is not remembered after it", async () => {
  const { served } = openMemory()
  const { entries } = entriesAfter("acme", genesisOf("acme"), ["a"])
  const made = project("acme", "p", 0, "one")
  await served.journal.append([{ workspace: "acme", from: genesisOf("acme"), entries, changes: [made] }])
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
  const changed = project("acme", "p", 1, "two")
  await write(served, "acme", ["b"], [changed])
  cached.forget([changed])
  answerLate()
  assert.equal((await asking)?.value.name, "one", "it was so when it was asked")
  assert.equal((await cached.get("project", "acme", "p"))?.value.name, "two")
  await expectChain(served.journal, "acme")
})
