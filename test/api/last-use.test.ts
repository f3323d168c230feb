import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { eventFor, makeKey, makeWorkspace, startService } from "../service.ts"

// When keys and scoped tokens were used last. How often it is stored is in
// workspace/credential-uses.test.ts.

test("lists say when each key and token was used last, also after a restart", async () => {
  await using first = await startService()
  const acme = await makeWorkspace(first)
  const { root } = first
  const idOf = (bearer: string | undefined) => bearer?.split("_")[1] ?? ""
  const unused = await makeKey(first, acme.id, { scopes: ["read"] })
  const before = new Date().toISOString()
  const { receipt } = (await acme.writer.write(eventFor(acme.id))).json()
  const minted = (await acme.reader.post(`${acme.path}/receipts/${receipt}/token`, {})).json()
  const listed = async (client = root) => {
    const { apiKeys } = (await client.get(`${acme.path}/api-keys`)).json()
    const { tokens } = (await client.get(`${acme.path}/tokens`)).json()
    const rows: Record<string, { lastUsedAt?: string; lastUsedFrom?: string }> = {}
    for (const row of [...apiKeys, ...tokens]) rows[row.keyId ?? row.tokenId] = row
    return rows
  }
  const [writer, reader] = [idOf(acme.writer.bearer), idOf(acme.reader.bearer)]
  const rows = await listed()
  for (const id of [writer, reader]) {
    assert.ok((rows[id]?.lastUsedAt ?? "") >= before, id)
    assert.equal(rows[id]?.lastUsedFrom, "127.0.0.1")
  }
  for (const id of [idOf(unused.bearer), minted.tokenId])
    assert.ok(rows[id] !== undefined && !("lastUsedAt" in rows[id]), id)

  const holder = first.client(minted.token)
  assert.equal((await holder.get(`${acme.path}/receipts/${receipt}`)).status, 200)
  assert.equal((await unused.write(eventFor(acme.id))).status, 403)
  const wrong = `${unused.bearer?.slice(0, -1)}${unused.bearer?.endsWith("x") ? "y" : "x"}`
  assert.equal((await first.client(wrong).get(acme.path)).status, 401)
  const used = await listed()
  assert.ok((used[minted.tokenId]?.lastUsedAt ?? "") >= before)
  assert.ok(!("lastUsedFrom" in (used[minted.tokenId] ?? {})), "it is somebody's link")
  assert.ok((used[idOf(unused.bearer)]?.lastUsedAt ?? "") >= before, "a refused use is one")
  assert.equal(await first.end(), 0)

  await using second = await startService({ data: first.data })
  assert.deepEqual(await listed(second.client(root.bearer)), used)
  await expectChain(second.root, acme.id)
  assert.equal(await second.end(), 0)
})
