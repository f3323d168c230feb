import assert from "node:assert/strict"
import test from "node:test"
import { createFrontier, eventHash, parseVkey } from "@tallystick/proof"
import { unseal } from "../secrets/keyring.ts"
import { sha256 } from "../runtime/sha256.ts"
import { epochsOf } from "../store/epochs.ts"
import { expectChain } from "../store/expect-chain.ts"
import { instance, openTestHouse } from "./test-house.ts"
import { openEpoch } from "./open-epoch.ts"

test("the commit that opens an epoch destroys the keys of the former one", async () => {
  const { journal, registry, parts, workspaces } = openTestHouse()
  await workspaces.create(instance, { id: "acme" })
  for (let epochs = 2; epochs <= 4; epochs++) {
    const before = (await registry.get("workspace", "acme", "acme")) ?? assert.fail()
    const kept = createFrontier(undefined, sha256)
    for (const { record } of await journal.after("acme", epochsOf(before)[0].before, 1000))
      kept.append(eventHash(record, sha256))
    const { origin } = await openEpoch(parts, before, {
      size: kept.size,
      root: kept.root(),
      checkpoint: undefined,
      lost: undefined,
    })
    const keys = await registry.list("log-key", "acme", undefined, 100)
    assert.equal(keys.length, epochs)
    const [newest, ...former] = keys.map(({ value }) => value)
    assert.equal(parseVkey(newest?.vkey ?? "")?.name, origin)
    assert.equal(
      unseal(parts.keyring, "log keys", newest?.vkey ?? "", newest?.wrapped ?? "").length,
      32,
    )
    for (const { vkey, wrapped } of former) assert.equal(wrapped, "", vkey)
  }
  const workspace = (await registry.get("workspace", "acme", "acme")) ?? assert.fail()
  assert.equal(workspace.value.former?.length, 3)
  await expectChain(journal, "acme")
})
