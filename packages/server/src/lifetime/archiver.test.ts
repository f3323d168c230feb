import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { systemClock } from "../clock.ts"
import { createSegmentArchiving, type SegmentArchiving } from "../followers/segment-archiving.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { createArchivedBodies, withArchived } from "../store/archive/archived-bodies.ts"
import { openFolderStorage } from "../store/archive/folder-storage.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { JournalReader } from "../store/store.ts"
import { archiveDue } from "./archiver.ts"

const workspace = testWorkspace("acme", { hotDays: 0 })

test("a segment that another process records meanwhile stays", async (t) => {
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
  const archive = (by: SegmentArchiving) =>
    archiveDue(
      { journal, registry, ledger, clock: systemClock, limits, archiving: by },
      workspace,
      {
        partialMs: 0,
        ends: new Map(),
        isOver: () => false,
      },
    )
  // This one stood still between its file and the entry, for longer than its lease.
  let others = 0
  await archive({
    ...archiving,
    async write(due) {
      const written = await archiving.write(due)
      if (others === 0) others = (await archive(archiving)).entries
      return written
    },
  })
  assert.ok(others >= 64, "the other process has archived")
  const bodies = createArchivedBodies(storage, registry)
  await expectChain(withArchived<JournalReader>(journal, bodies), workspace.id)
})
