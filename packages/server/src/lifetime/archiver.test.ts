import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test, { type TestContext } from "node:test"
import { systemClock } from "../clock.ts"
import { createSegmentArchiving, type SegmentArchiving } from "../followers/segment-archiving.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { createArchivedBodies, withArchived } from "../store/archive/archived-bodies.ts"
import { openFolderStorage } from "../store/archive/folder-storage.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { JournalReader } from "../store/store.ts"
import { destroyedChanges } from "../store/destroyed.ts"
import { recordPlanned } from "../workspace/admin-entries.ts"
import { removeDestroyed } from "./archive-segments.ts"
import { archiveDue } from "./archiver.ts"

const workspace = testWorkspace("acme", { hotDays: 0 })

/** 200 entries, 192 of them in frames, and what archives them. */
async function openHouse(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "tallystick-"))
  t.after(() => rm(folder, { recursive: true }))
  const { served, filing } = openMemory()
  const { journal, registry } = served
  const ledger = openTestLedger(journal, { registry })
  await ledger.record(
    workspace,
    Array.from({ length: 200 }, () => testEvent()),
  )
  while ((await filing.content.pack(workspace.id, 0, 192)) !== undefined);
  const storage = openFolderStorage(folder)
  const archiving = createSegmentArchiving(filing, storage, systemClock)
  const limits = { ...defaultLimits, archiveEntriesMax: 64 }
  const parts = { journal, registry, ledger, clock: systemClock, limits, archiving }
  const options = { partialMs: 0, ends: new Map(), isOver: () => false }
  return {
    ...parts,
    storage,
    archive: (by = archiving) => archiveDue({ ...parts, archiving: by }, workspace, options),
    async [Symbol.asyncDispose]() {
      const bodies = createArchivedBodies(storage, registry)
      const archived = withArchived<JournalReader>(journal, bodies)
      await expectChain(archived, workspace.id)
    },
  }
}

test("a segment that another process records meanwhile stays", async (t) => {
  await using house = await openHouse(t)
  const { archiving, archive } = house
  // This one stood still between its file and the entry, for longer than its lease.
  let others = 0
  await archive({
    ...archiving,
    async write(due) {
      const written = await archiving.write(due)
      if (others === 0) others = (await archive()).entries
      return written
    },
  })
  assert.ok(others >= 64, "the other process has archived")
})

test("the file of a segment that is destroyed goes, also if a process ends in the middle", async (t) => {
  const { archiving, archive, registry, ledger, storage, ...parts } = await openHouse(t)
  const [segment] = (await archive()).segments
  assert.ok(segment !== undefined)
  const { first, last } = segment
  const gone = { why: "expired", bodies: [[first, last]], fields: [] } as const
  const act = {
    by: { kind: "instance" },
    action: "retention.body.expire",
    target: { id: "rule", type: "retention_rule" },
    changes: await destroyedChanges(registry, workspace.id, gone, "rule"),
  } as const
  await recordPlanned({ ledger, clock: systemClock }, workspace, async () => act)
  const killed = async (): Promise<never> => assert.fail("killed")
  // A start looks at the segments that there are.
  const remove = async (by: SegmentArchiving) =>
    removeDestroyed(
      { ...parts, registry, ledger, archiving: by },
      workspace,
      (await archive()).segments,
    )
  await assert.rejects(remove({ ...archiving, clean: killed }), /killed/)
  await remove(archiving)
  assert.equal(await storage.get(segment.file, { start: 0, end: 1 }), undefined)
  const { segments } = await archive()
  assert.ok(segments.every(({ file }) => file !== segment.file))
})
