import assert from "node:assert/strict"
import test from "node:test"
import { formatDestroyed, type SequenceRange } from "@tallystick/proof"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { frameEntries } from "../store/body-frame.ts"
import { destroyedChanges } from "../store/destroyed.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { JournalReader } from "../store/store.ts"
import { createEntryExporter } from "./entry-exporter.ts"
import { createCheckpoints } from "./verified-checkpoints.ts"
import { createLeaves } from "./verified-leaves.ts"

const acme = testWorkspace()
const entries = 2 * frameEntries

test("content that expires while an export is written is not broken", async () => {
  const { served, filing } = openMemory()
  const { registry, journal } = served
  const ledger = openTestLedger(journal, { registry })
  await ledger.record(acme, [testEvent()], [{ ...acme, version: 0 }])
  await ledger.record(
    acme,
    Array.from({ length: entries - 1 }, () => testEvent()),
  )
  const expire = async (...bodies: SequenceRange[]): Promise<void> => {
    const destroyed = { why: "expired", bodies, fields: [] } as const
    const changes = await destroyedChanges(registry, "acme", destroyed, "rtn_1")
    const metadata = formatDestroyed(destroyed)
    await ledger.record(acme, [testEvent({ kind: "retention", metadata })], changes)
    await filing.content.destroyBodies("acme", bodies)
  }
  await expire({ first: 1, last: 2 })
  let reads = 0
  const expiring: Pick<JournalReader, "after"> = {
    async after(...asked) {
      reads += 1
      if (reads === 2) await expire({ first: entries - 1, last: entries })
      return journal.after(...asked)
    },
  }
  const leaves = createLeaves(served, defaultLimits)
  const isGenuine = () => assert.fail("nothing is signed")
  const exporter = createEntryExporter({
    ...served,
    journal: { ...journal, ...expiring },
    source: {
      ...served,
      leaves,
      checkpoints: createCheckpoints({ store: served, leaves, isGenuine }),
      haltedFrom: () => undefined,
      suspect: () => assert.fail("nothing is broken"),
    },
  })
  const asked = {
    workspace: acme,
    format: "jsonl",
    isProven: false,
    wanted: { system: "with" },
    nowMs: 0,
  } as const
  const sequences = Array.from({ length: entries }, (_, at) => at + 1)
  const piece = await exporter.write(asked, sequences)
  assert.deepEqual([piece.taken, piece.broken, reads], [entries, 0, 2])
  await expectChain(journal, "acme")
})
