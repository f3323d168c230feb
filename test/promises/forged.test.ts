import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { startProgram } from "../crash/programs.ts"
import { metric } from "../metrics.ts"
import {
  eventFor,
  eventually,
  makeWorkspace,
  writeEvent,
  type Service,
  type Workspace,
} from "../service.ts"
import {
  rebuildTree,
  keepCopy,
  replaceLogKey,
  openFiles,
  restoreCopy,
  rewrite,
  rewriteHeads,
  type Files,
} from "./forged.ts"

// Promise 6, for reads: an attacker who can write every file, but has no key, cannot make the
// service say `verified` of unsigned data.

/** Only reads are tested here: the auditor is slow, and a start checks the last entry only. */
const environment = {
  TALLYSTICK_LIMIT_AUDIT_ENTRIES_PER_SECOND: "1",
  TALLYSTICK_LIMIT_RECHECK_ENTRIES: "1",
  // On a busy machine a signature takes longer than a client waits.
  TALLYSTICK_LIMIT_PROOF_WAIT_MS: "30000",
}
const events = 12
/** Before the auditor can have come to a forged entry. */
const haltedWithinMs = 8000

interface Scene {
  readonly workspace: Workspace
  readonly receipts: readonly MintedReceipt[]
  /** The first event comes after the entries that made the workspace. */
  readonly first: number
}

/** Some events, all of them signed. */
async function writeSigned(service: Service): Promise<Scene> {
  const workspace = await makeWorkspace(service)
  const receipts: MintedReceipt[] = []
  for (let count = 0; count < events; count++) receipts.push(await writeEvent(workspace))
  const last = await workspace.reader.get(`${workspace.path}/receipts/${receipts.at(-1)?.receipt}`)
  assert.equal(
    (await workspace.reader.get(`${workspace.path}/receipts/${receipts.at(-1)?.receipt}/proof`))
      .status,
    200,
  )
  return {
    workspace,
    receipts,
    first: last.json<{ entry: { sequence: number } }>().entry.sequence - events + 1,
  }
}

interface Entry {
  readonly sequence: number
  readonly integrity: string
}

/** The integrity of the events, in order. Every way to read a page must give the same. */
async function standing(
  service: Service,
  { workspace: { path, reader } }: Scene,
): Promise<readonly string[]> {
  const pages = await Promise.all(
    ["", "&include=proof", "&query=action:billing*", "&lane=operations"].map(async (more) => {
      const page = await service
        .client(reader.bearer)
        .get(`${path}/events?storage=all&limit=100${more}`)
      assert.equal(page.status, 200, page.text)
      const { events: shown, verified } = page.json<{
        events: readonly Entry[]
        verified: boolean
      }>()
      const integrities = shown.toReversed().map(({ integrity }) => integrity)
      assert.equal(
        verified,
        !integrities.includes("broken"),
        "a page is verified when nothing on it is broken",
      )
      return integrities
    }),
  )
  for (const page of pages) assert.deepEqual(page, pages[0])
  return pages[0] ?? []
}

/** The integrity of one event, by its receipt and by its proof. */
async function expectUnproven(
  service: Service,
  { workspace: { path, reader }, receipts }: Scene,
  at: number,
): Promise<void> {
  const client = service.client(reader.bearer)
  const answer = await client.get(`${path}/receipts/${receipts[at]?.receipt}`)
  assert.deepEqual([answer.json().verified, answer.json().entry.integrity], [false, "broken"])
  const proof = await client.get(`${path}/receipts/${receipts[at]?.receipt}/proof`)
  assert.deepEqual([proof.status, proof.json().error], [503, "integrity_failure"])
}

async function expectHalted(service: Service, { workspace: { id, writer } }: Scene): Promise<void> {
  await eventually(
    "the workspace is halted",
    async () =>
      (await service.client(writer.bearer).write(eventFor(id))).json().error ===
      "integrity_failure",
    haltedWithinMs,
  )
  const ready = await service.client().get("/readyz?verbose")
  assert.equal(ready.status, 200)
  assert.equal(
    ready.json().checks.find(({ name }: { name: string }) => name === "chains").ok,
    false,
  )
  assert.equal(await metric(service, "tallystick_integrity_failures_total"), 1)
}

const times = (count: number, word: string): readonly string[] =>
  Array.from({ length: count }, () => word)

test("one entry with another body and hash is reported as broken, and its neighbours are not", async () => {
  await using service = await startProgram({ environment })
  const scene = await writeSigned(service)
  const sound = await writeSigned(service)
  {
    using files = openFiles(service.data)
    rewrite(files, scene.workspace.id, scene.first + 5, false)
  }
  const expected = [...times(5, "verified"), "broken", ...times(events - 6, "verified")]
  assert.deepEqual(await standing(service, scene), expected)
  await expectUnproven(service, scene, 5)
  await expectHalted(service, scene)
  // What was written until it was halted comes after these.
  assert.deepEqual((await standing(service, scene)).slice(0, events), expected)
  assert.equal(
    (await sound.workspace.writer.write(eventFor(sound.workspace.id))).status,
    202,
    "the others go on",
  )
  await expectChain(service.root, sound.workspace.id, sound.receipts)
  assert.equal(await service.end(), 0)
})

/** Each rewrites the entries from one on, and more of the data that would show it. */
const forgeries: Readonly<Record<string, (files: Files, id: string, data: string) => void>> = {
  "every record behind it": () => {},
  "… and the index under the old signature": (files, id) => void rebuildTree(files, id),
  "… and the heads file": (files, id, data) => rewriteHeads(data, rebuildTree(files, id).line),
  "… and the log's key": (files, id, data) =>
    rewriteHeads(data, rebuildTree(files, id, replaceLogKey(files, id)).line),
}

for (const [what, forge] of Object.entries(forgeries)) {
  test(`no entry after one that was changed with ${what} verifies, while the service runs or after a start`, async () => {
    await using first = await startProgram({ environment })
    const scene = await writeSigned(first)
    const { workspace, first: event } = scene
    // A sound entry with the newest key, which a start checks.
    await writeSigned(first)
    keepCopy(first.data, "good")
    const change = (): void => {
      using files = openFiles(first.data)
      rewrite(files, workspace.id, event + 5, true)
      forge(files, workspace.id, first.data)
    }
    change()
    const seen = await standing(first, scene)
    assert.deepEqual(seen.slice(5), times(events - 5, "broken"))
    await expectUnproven(first, scene, 5)
    await expectUnproven(first, scene, events - 1)
    await expectHalted(first, scene)
    assert.equal(await first.end(), 0)

    restoreCopy(first.data, "good")
    change()
    await using second = await startProgram({ data: first.data, environment })
    // The checkpointer may find it before a read does.
    assert.deepEqual((await standing(second, scene)).slice(5), times(events - 5, "broken"))
    await expectUnproven(second, scene, events - 1)
    await expectHalted(second, scene)
    assert.equal(await second.end(), 0)
  })
}

test("an older checkpoint in place of a newer one does not hide a changed entry behind it", async () => {
  await using service = await startProgram({ environment })
  const scene = await writeSigned(service)
  const { workspace, first: event } = scene
  const older = (() => {
    using files = openFiles(service.data)
    return files.index
      .prepare("SELECT size, root, note, signed_ms FROM checkpoints WHERE workspace = ?")
      .get(workspace.id)
  })()
  await workspace.writer.write(eventFor(workspace.id))
  const receipt: MintedReceipt = await writeEvent(workspace)
  assert.equal(
    (await workspace.reader.get(`${workspace.path}/receipts/${receipt.receipt}/proof`)).status,
    200,
  )
  {
    using files = openFiles(service.data)
    rewrite(files, workspace.id, event + events, true)
    files.index
      .prepare(
        "UPDATE checkpoints SET size = ?, root = ?, note = ?, signed_ms = ? WHERE workspace = ?",
      )
      .run(...(Object.values(older ?? {}) as string[]), workspace.id) // what was just read of these columns
  }
  assert.deepEqual(await standing(service, scene), [
    ...times(events, "verified"),
    "broken",
    "broken",
  ])
  await expectHalted(service, scene)
  assert.equal(await service.end(), 0)
})

test("canary: a whole older state with its heads file passes, and only evidence outside shows it", async () => {
  await using first = await startProgram({ environment })
  const scene = await writeSigned(first)
  keepCopy(first.data, "good")
  await scene.workspace.writer.write(eventFor(scene.workspace.id))
  assert.equal(await first.end(), 0)
  restoreCopy(first.data, "good")
  await using second = await startProgram({ data: first.data, environment })
  assert.deepEqual(await standing(second, scene), times(events, "verified"))
  await expectChain(second.root, scene.workspace.id, scene.receipts)
  assert.equal(await second.end(), 0)
})
