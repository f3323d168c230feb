import assert from "node:assert/strict"
import test from "node:test"
import { readZip, verifyPack, type PackVerdict } from "@tallystick/proof"
import { openEntry } from "../store/opened-entry.ts"
import { unpaced } from "../runtime/pace.ts"
import { LedgerError } from "../error.ts"
import { createCheckpointer } from "../followers/checkpointer.ts"
import { followOnce } from "../followers/follow.ts"
import { createSigners } from "../followers/signer.ts"
import { hasCode, testEvent } from "../ledger/test-ledger.ts"
import type { Limits } from "../limits.ts"
import { createCheckpoints, createIsGenuine } from "../query/verified-checkpoints.ts"
import { createLeaves } from "../query/verified-leaves.ts"
import { changed, type Change, type Document } from "../store/documents.ts"
import { isSealedBy } from "../store/log-keys.ts"
import { readRoot } from "../store/tree-reads.ts"
import { expectChain } from "../store/expect-chain.ts"
import { memoryHeads } from "../store/heads.ts"
import type { Store } from "../store/store.ts"
import { recordActs, type Act } from "./admin-entries.ts"
import { createPacks, type PackDownload } from "./evidence-packs.ts"
import { createPolicies } from "./policies.ts"
import { instance, openTestHouse } from "./test-house.ts"

interface Bend {
  readonly limits?: Partial<Limits>
  /** What seals a workspace, in place of `seal`. */
  readonly sealing?: (seal: () => Promise<void>) => Promise<void>
  readonly journal?: (journal: Store["journal"]) => Store["journal"]
  /** The verifier that the service has now. */
  readonly verifier?: () => string | undefined
}

/**
 * A workspace with some entries over a store in memory, signed on demand by the real checkpointer.
 */
async function openHouse(count: number, bend: Bend = {}) {
  const { served, watched, clock, parts, workspaces } = openTestHouse(
    bend.limits === undefined ? {} : { limits: bend.limits },
  )
  const { journal, index, registry } = served
  const { ledger, limits, keyring } = parts
  const acme = await workspaces.create(instance, { id: "acme" })
  const isGenuine = createIsGenuine(registry, isSealedBy(keyring))
  const checkpoints = createCheckpoints({
    store: served,
    leaves: createLeaves(served, limits),
    isGenuine,
  })
  const checkpointer = createCheckpointer({
    ...watched,
    isGenuine,
    heads: memoryHeads(),
    signersOf: createSigners({ registry, journal, keyring, clock }),
    rootAt: (log, size) => readRoot({ journal, index }, log, size),
    clock,
  })
  const sealNow = async (): Promise<void> => {
    while (!(await followOnce(watched.journal, checkpointer, "acme", limits)).caughtUp) continue
    await checkpointer.sign("acme")
  }
  // One after the other, as the thread that signs does it.
  let sealed = Promise.resolve()
  const seal = (): Promise<void> => (sealed = sealed.then(sealNow))
  const packs = createPacks({
    ...parts,
    store: { ...served, journal: bend.journal?.(journal) ?? journal },
    checkpoints,
    limits,
    pace: unpaced,
    savedVerifier: async () => bend.verifier?.(),
    seal: () => bend.sealing?.(seal) ?? seal(),
  })
  const write = async (many: number): Promise<void> => {
    const said = (at: number) =>
      testEvent({
        actor: { id: "usr_1", type: "user", email: `ada${at}@example.com` },
        target: { id: `'=${at}`, type: "thing" },
        policyVersion: 1,
        receivedAtMs: clock.now(),
      })
    await ledger.record(
      acme,
      Array.from({ length: many }, (_, at) => said(at)),
    )
  }
  await write(count)
  const [key] = await registry.list("log-key", "acme", undefined, 1)
  const trustedKeys = [key?.value.vkey ?? assert.fail()]
  return {
    acme,
    packs,
    registry,
    write,
    policies: createPolicies(parts),
    make: (sequences: readonly number[]) =>
      packs.create(instance, acme, { title: "Evidence", find: async () => sequences }),
    /** Changes a document like somebody with write access to the files. */
    async change(change: Change) {
      const act: Act = { by: instance, action: "planted", target: { id: "p", type: "planted" } }
      await recordActs(ledger, acme, [{ ...act, changes: [change] }], clock.now())
    },
    download: async (pack: Document<"pack">) =>
      bytesOf(await packs.download(instance, acme, pack, "zip")),
    verified: (bytes: Uint8Array): PackVerdict => verifyPack(bytes, { trustedKeys }),
    /** The acts on evidence packs that the ledger has recorded. */
    async acts() {
      const stored = await journal.after("acme", 0, 10_000)
      return stored.flatMap(
        (entry) =>
          /^evidence\.pack\.(\w+)$/.exec(openEntry(entry, [])?.content.action ?? "")?.[1] ?? [],
      )
    },
    finish: () => expectChain(journal, "acme"),
  }
}

async function bytesOf({ bytes, content }: PackDownload): Promise<Uint8Array> {
  const whole = Buffer.concat(await Array.fromAsync<Buffer>(content))
  assert.equal(whole.length, bytes, "as long as was announced")
  return new Uint8Array(whole)
}

const range = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at)

test("a pack reads each entry once to be made, its downloads have the same bytes while the ledger grows, and it verifies", async () => {
  const read: number[] = []
  const house = await openHouse(700, {
    journal: (journal) => ({
      ...journal,
      async at(...asked) {
        const entries = await journal.at(...asked)
        read.push(...entries.map((entry) => entry?.sequence ?? 0))
        return entries
      },
    }),
  })
  const sequences = [...range(3, 300), 400, 402, 555, ...range(600, 50)]
  const pack = await house.make(sequences)
  assert.deepEqual(read, sequences)
  assert.ok(pack.value.seal !== undefined && pack.value.seal.sequence > 700)
  const first = await house.download(pack)
  const verdict = house.verified(first)
  assert.equal(verdict.verdict, "genuine", JSON.stringify(verdict.checks))
  assert.deepEqual(
    verdict.entries?.map(({ sequence }) => sequence),
    sequences,
  )
  assert.deepEqual(
    [verdict.packId, verdict.packHash, verdict.withheld],
    [pack.id, pack.value.packHash, 0],
  )
  await house.write(300)
  const again = (await house.registry.get("pack", "acme", pack.id)) ?? assert.fail()
  assert.deepEqual(await house.download(again), first)
  assert.deepEqual(await house.acts(), ["create", "seal", "download", "download"])
  await house.finish()
})

test("a pack keeps the verifier from its creation when the service gets another one", async () => {
  let html: string | undefined = "<!doctype html>the first ä"
  const house = await openHouse(6, { verifier: () => html })
  const look = async (pack: Document<"pack">) => {
    const bytes = await house.download(pack)
    assert.equal(house.verified(bytes).verdict, "genuine")
    const files = readZip(bytes) ?? assert.fail()
    const carried = files.get("verify.html")
    const readme = Buffer.from(files.get("README.txt") ?? assert.fail()).toString()
    assert.equal(/verify\.html/.test(readme), carried !== undefined)
    return { bytes, carried: carried && Buffer.from(carried).toString() }
  }
  const kept = async () => (await house.registry.list("verifier", "acme", undefined, 10)).length
  // Both find that the verifier is not kept yet.
  const [first, second] = await Promise.all([house.make([3, 4]), house.make([5])])
  assert.equal(await kept(), 1)
  const before = await look(first)
  assert.deepEqual([before.carried, (await look(second)).carried], [html, html])

  html = "<!doctype html>another"
  const later = await house.make([3, 4])
  assert.equal(await kept(), 2)
  assert.deepEqual(await look(first), before)
  assert.equal((await look(later)).carried, html)
  html = undefined
  assert.equal((await look(await house.make([3]))).carried, undefined)
  assert.deepEqual(await look(first), before)
  await house.finish()
})

test("a stored verifier that was changed is not sent", async () => {
  const house = await openHouse(3, { verifier: () => "<!doctype html>true" })
  const pack = await house.make([3])
  const kept = await house.registry.get("verifier", "acme", pack.value.verifier ?? assert.fail())
  for (const value of [{ html: "<!doctype html>false" }, null]) {
    await house.change(changed(kept ?? assert.fail(), value))
    await assert.rejects(house.download(pack), hasCode("integrity_failure"))
    if (kept !== undefined) Object.assign(kept, { version: kept.version + 1 })
  }
  assert.deepEqual(await house.acts(), ["create", "seal"])
  await house.finish()
})

test("a pack whose sealing was interrupted is sealed once, by its first download", async () => {
  let calls = 0
  const house = await openHouse(5, {
    // The second time, after the pack's own entry, as if the process had ended there.
    sealing: (seal) => (++calls === 2 ? Promise.reject(new Error("cut off")) : seal()),
  })
  const pack = await house.make([3, 4])
  assert.equal(pack.value.seal, undefined)
  assert.deepEqual(await house.acts(), ["create"])
  const packed = await Promise.all([
    house.download(pack),
    house.download(pack),
    house.download(pack),
  ])
  const sealed = await house.registry.get("pack", "acme", pack.id)
  assert.equal(sealed?.version, 2)
  for (const bytes of packed) assert.deepEqual(bytes, packed[0])
  assert.equal(house.verified(packed[0] ?? assert.fail()).verdict, "genuine")
  assert.deepEqual((await house.acts()).toSorted(), [
    "create",
    "download",
    "download",
    "download",
    "seal",
  ])
  await house.finish()
})

test("if no checkpoint covers the entries in time, no pack is made and nothing is recorded", async () => {
  const house = await openHouse(5, { sealing: () => new Promise(() => {}) })
  await assert.rejects(house.make([4]), hasCode("ledger_unavailable"))
  assert.deepEqual(
    [await house.acts(), await house.registry.list("pack", "acme", undefined, 10)],
    [[], []],
  )
  await house.finish()
})

test("no pack is made with an entry that its maker may not see, however it was found", async () => {
  const house = await openHouse(3)
  const scoped = { kind: "api-key", id: "k", workspace: "acme", scopes: ["read"] } as const
  const maker = { ...scoped, projectIds: ["another"] }
  const request = { title: "Evidence", find: async () => [3] }
  await assert.rejects(house.packs.create(maker, house.acme, request), /may not see/)
  assert.deepEqual(await house.acts(), [])
  await house.finish()
})

test("a changed entry can be neither packed nor downloaded, and ends a download that has begun", async () => {
  let changed = 0
  const house = await openHouse(5, {
    journal: (journal) => ({
      ...journal,
      at: async (workspace, sequences) =>
        (await journal.at(workspace, sequences)).map((stored) =>
          stored?.sequence === changed
            ? {
                ...stored,
                body: Buffer.from(
                  Buffer.from(stored.body ?? [])
                    .toString()
                    .replace('"v":1', '"v":2'),
                ),
              }
            : stored,
        ),
    }),
  })
  const pack = await house.make([3, 4])
  changed = 4
  await assert.rejects(house.make([4]), hasCode("integrity_failure"))
  await assert.rejects(house.download(pack), hasCode("integrity_failure"))
  changed = pack.value.seal?.sequence ?? 0
  await assert.rejects(house.download(pack), hasCode("integrity_failure"))
  for (const format of ["zip", "json"] as const) {
    changed = 5
    const { content } = await house.packs.download(instance, house.acme, pack, format)
    changed = 4
    await assert.rejects(Array.fromAsync(content), /is not what it was a moment ago/)
  }
  changed = 5
  assert.equal(house.verified(await house.download(pack)).verdict, "genuine")
  assert.deepEqual(await house.acts(), ["create", "seal", "download", "download", "download"])
  await house.finish()
})

test("a pack contains a policy if it was published before the pack was made", async () => {
  const house = await openHouse(5)
  const before = await house.make([3])
  await house.policies.publish(instance, house.acme, {
    projectId: "core",
    sections: [{ id: "1", title: "Use", body: "text" }],
  })
  const after = await house.make([3])
  assert.deepEqual(
    [before.value.policies, after.value.policies],
    [[], [{ projectId: "core", version: 1 }]],
  )
  for (const pack of [before, after])
    assert.equal(house.verified(await house.download(pack)).verdict, "genuine")
  await house.finish()
})

test("too many packs at once and too large packs are refused before anything is recorded", async () => {
  const house = await openHouse(50, {
    limits: { packsAtOnceMax: 2, packsWaitingMax: 0, packBytesMax: 60_000 },
  })
  await assert.rejects(house.make(range(3, 48)), hasCode("payload_too_large"))
  const made = await Promise.allSettled([house.make([3]), house.make([4]), house.make([5])])
  assert.deepEqual(
    made.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected"],
  )
  assert.ok(hasCode("overloaded")((made[2] as PromiseRejectedResult).reason))
  const pack = await house.make([6])
  assert.equal((await house.acts()).filter((act) => act === "create").length, 3)
  const left = AbortSignal.abort(new LedgerError("bad_request", "left"))
  await assert.rejects(
    house.packs.download(instance, house.acme, pack, "zip", left),
    hasCode("bad_request"),
  )
  assert.ok(
    !(await house.acts()).includes("download"),
    "what nobody waits for any more is not given out",
  )
  await house.finish()
})

test("a pack that is being sent keeps its place until its stream is closed for any reason", async () => {
  let failures = 0
  const house = await openHouse(40, {
    limits: { packsAtOnceMax: 1, packsSentOfWorkspaceMax: 1 },
    journal: (journal) => ({
      ...journal,
      at: (...asked) =>
        failures-- === 1 ? Promise.reject(new Error("cannot be read")) : journal.at(...asked),
    }),
  })
  const pack = await house.make(range(3, 30))
  const leaving = new AbortController()
  const reasons: readonly ((packed: PackDownload) => unknown)[] = [
    bytesOf,
    ({ content }) => content.destroy(),
    async ({ content }) => {
      for await (const _ of content) break
    },
    async ({ content }) => {
      failures = 1
      await assert.rejects(Array.fromAsync(content), /cannot be read/)
    },
    () => leaving.abort(new LedgerError("bad_request", "left")),
  ]
  const ask = (signal?: AbortSignal) =>
    house.packs.download(instance, house.acme, pack, "zip", signal)
  let held = await ask()
  for (const [at, close] of reasons.entries()) {
    let isSent = false
    const next = ask(at === reasons.length - 2 ? leaving.signal : undefined).finally(
      () => (isSent = true),
    )
    // Packs are made one after another, so all earlier ones are complete.
    await house.make([3])
    assert.ok(!isSent)
    assert.equal(
      (await house.acts()).filter((act) => act === "download").length,
      at + 1,
      "what waits is not made",
    )
    await close(held)
    held = await next
  }
  await bytesOf(held)
  failures = 1
  await assert.rejects(ask(), /cannot be read/)
  await bytesOf(await ask())
  await house.finish()
})
