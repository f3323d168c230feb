import assert from "node:assert/strict"
import test from "node:test"
import { createFrontier, eventHash } from "@tallystick/proof"
import { createCheckpointer } from "../followers/checkpointer.ts"
import { followOnce } from "../followers/follow.ts"
import { createSigners } from "../followers/signer.ts"
import { defaultLimits } from "../limits.ts"
import { sha256 } from "../runtime/sha256.ts"
import { epochsOf } from "../store/epochs.ts"
import { expectChain } from "../store/expect-chain.ts"
import { memoryHeads } from "../store/heads.ts"
import { isSealedBy } from "../store/log-keys.ts"
import type { WorkspaceDocument } from "../store/documents.ts"
import { readRoot } from "../store/tree-reads.ts"
import { openEpoch } from "./open-epoch.ts"
import { instance, openTestHouse } from "./test-house.ts"
import { createCheckpoints, createIsGenuine } from "../query/verified-checkpoints.ts"
import { createLeaves } from "../query/verified-leaves.ts"

/** A workspace of two signed epochs. A new `checkpoints()` has an empty cache. */
async function openHouse() {
  const { served, watched, parts, workspaces } = openTestHouse()
  const { journal, index, registry } = served
  const { clock } = parts
  const isGenuine = createIsGenuine(registry, isSealedBy(parts.keyring))
  const heads = memoryHeads()
  const sign = async () => {
    const rootAt: Parameters<typeof createCheckpointer>[0]["rootAt"] = (log, size) =>
      readRoot({ journal, index }, log, size)
    const signersOf = createSigners({ ...parts, journal })
    const checkpointer = createCheckpointer({
      ...watched,
      heads,
      signersOf,
      isGenuine,
      rootAt,
      clock,
    })
    while (!(await followOnce(watched.journal, checkpointer, "acme", defaultLimits)).caughtUp)
      continue
    return (await checkpointer.sign("acme")) ?? assert.fail("nothing was signed")
  }
  const document = async () => (await registry.get("workspace", "acme", "acme")) ?? assert.fail()
  await workspaces.create(instance, { id: "acme" })
  const checkpoint = await sign()
  const kept = createFrontier(undefined, sha256)
  for (const { record } of await journal.after("acme", 0, 1000))
    kept.append(eventHash(record, sha256))
  await openEpoch(parts, await document(), {
    size: kept.size,
    root: kept.root(),
    checkpoint,
    lost: undefined,
  })
  await sign()
  const checkpoints = () =>
    createCheckpoints({ store: served, leaves: createLeaves(served, defaultLimits), isGenuine })
  return { journal, document, checkpoints, kept, checkpoint }
}

test("a former epoch is verified against the newest signed tree, even if the workspace's document was changed", async () => {
  const { journal, document, checkpoints, kept, checkpoint } = await openHouse()
  const genuine = await document()
  const [newest, former] = epochsOf(genuine)
  assert.ok(former !== undefined)
  assert.equal((await checkpoints().of(genuine, newest)).checkpoint?.size, 1)
  const proven = await checkpoints().of(genuine, former)
  assert.deepEqual(
    [proven.isForged, proven.tree?.size, proven.checkpoint?.note],
    [false, kept.size, checkpoint.note],
  )
  assert.deepEqual(Buffer.from(proven.tree?.root ?? []), Buffer.from(kept.root()))

  const [first] = genuine.value.former ?? []
  assert.ok(first !== undefined)
  const another = "ab".repeat(32)
  const forgeries: Readonly<Record<string, Partial<WorkspaceDocument>>> = {
    "another root of what was kept": { former: [{ ...first, root: another }] },
    "fewer entries": { former: [{ ...first, size: first.size - 1 }] },
    "another ledger before": { former: [{ ...first, ledgerId: another }] },
    "another origin before": { former: [{ ...first, origin: "ledger.example/ledgers/other" }] },
    "another genesis": { genesis: genuine.value.genesis.replace('"size":', '"size":1') },
    "another origin": { origin: first.origin },
    "none before": { former: [] },
  }
  for (const [what, change] of Object.entries(forgeries)) {
    const workspace = { ...genuine, value: { ...genuine.value, ...change } }
    const epochs = epochsOf(workspace)
    for (const epoch of epochs) {
      const { checkpoint: covering, isForged } = await checkpoints().of(workspace, epoch)
      assert.ok(
        isForged || covering === undefined,
        `${what}: epoch ${epoch.number} of ${epochs.length}`,
      )
    }
  }
  const other = checkpoint.note.replace(
    /\n[^\n]+\n\n/,
    `\n${Buffer.alloc(32, 1).toString("base64")}\n\n`,
  )
  const forged = {
    ...genuine,
    value: { ...genuine.value, former: [{ ...first, checkpoint: { note: other, signedMs: 0 } }] },
  }
  const [, before] = epochsOf(forged)
  assert.equal(
    (await checkpoints().of(forged, before ?? former)).checkpoint,
    undefined,
    "its last checkpoint is of another tree",
  )
  await expectChain(journal, "acme")
})
