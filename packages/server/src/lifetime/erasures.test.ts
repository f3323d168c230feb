import assert from "node:assert/strict"
import test from "node:test"
import { setImmediate } from "node:timers/promises"
import { wordsOf } from "@tallystick/client/grammar"
import {
  digest,
  eventHash,
  parseBody,
  parseRecord,
  readDestroyed,
  toBase64,
} from "@tallystick/proof"
import { systemClock } from "../clock.ts"
import { startFiling } from "../followers/filing.ts"
import type { Draft } from "../ledger/ledger.ts"
import {
  hasCode,
  openTestLedger,
  testEvent,
  testKeyring,
  testWorkspace,
} from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { unpaced, type Pace, type SharedPace } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import { cacheRegistry } from "../store/cached-documents.ts"
import { readGone } from "../store/destroyed.ts"
import { epochsOf } from "../store/epochs.ts"
import { memoryErasures } from "../store/erasures-file.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { disclosuresFor, disclosuresOf, openEntry } from "../store/opened-entry.ts"
import type { ErasureScope, Person } from "../store/documents.ts"
import { StartError } from "../error.ts"
import { recordEventsExport } from "../workspace/recorded-reads.ts"
import { createTokens } from "../workspace/scoped-tokens.ts"
import { eraseAgain } from "./erase-again.ts"
import { startErasing } from "./erasing.ts"
import { createErasures } from "./erasures.ts"
import type { ErasureParts } from "./erasure-survey.ts"
import { createHoldsOf } from "./held-entries.ts"
import { createHolds } from "./holds.ts"

const workspace = testWorkspace("acme", { personalKeys: ["note"] })
const by = { kind: "instance" } as const

function openHouse(
  holds: () => readonly string[] | Promise<readonly string[]> = () => [],
  pace: Pace = unpaced,
  bend: (parts: ErasureParts) => ErasureParts = (parts) => parts,
) {
  const store = openMemory()
  const { served, filing: filed } = store
  const ledger = openTestLedger(served.journal, { registry: served.registry })
  const filing = startFiling({
    store: filed,
    clock: systemClock,
    limits: defaultLimits,
    report: () => {},
  })
  const erasuresFile = memoryErasures()
  const own: ErasureParts = {
    store: served,
    registry: served.registry,
    ledger,
    clock: systemClock,
    keyring: testKeyring,
    limits: defaultLimits,
    content: filed.content,
    removeFromArchive: async () => {},
    forget: (...asked) => filing.forget(...asked),
    file: async (id) => void (await filing.catchUp(id)),
    erasuresFile,
    erased: () => {},
    holdsOn: async () => holds(),
    pace,
  }
  const erasures = createErasures(bend(own))
  return {
    ...store,
    parts: own,
    erasures,
    /** Of another process with the same data. */
    otherErasures: () => createErasures(own),
    erasuresFile,
    write: (drafts: readonly Draft[]) => ledger.record(workspace, drafts),
    async entry(sequence: number) {
      const [entry] = await served.journal.at(workspace.id, [sequence])
      return entry ?? assert.fail(`entry ${sequence} is missing`)
    },
    async erase(subject: Person, scope: ErasureScope = "fields") {
      const request = { subject, scope, reason: "asked by letter" }
      const { id, value } = await erasures.request(by, workspace, request)
      await erasures.carryOut(workspace)
      const done = await served.registry.get("erasure", workspace.id, id)
      return { id, asked: value, done: done?.value ?? assert.fail("it is kept") }
    },
    async [Symbol.asyncDispose]() {
      await filing.close()
      await expectChain(served.journal, workspace.id)
    },
  }
}

const ada = { id: "usr_ada", type: "user", email: "ada@example.com", name: "Ada" }
const bob = { id: "usr_bob", type: "user", email: "bob@example.com", name: "Bob" }
const context = { requestId: "req_1" }

function shown(entry: Parameters<typeof disclosuresOf>[0]) {
  const {
    actor,
    target,
    metadata,
    context: at,
  } = openEntry(entry, disclosuresOf(entry))?.content ?? {}
  return { actor, target, metadata, context: at }
}

const bare = ({ id, type }: typeof ada) => ({ id, type })

test("where the person is the actor, all fields but the target's are erased; where the target, only the target's", async () => {
  await using house = openHouse()
  const metadata = { note: "hers", amount: 1 }
  await house.write([
    testEvent({ actor: ada, target: bob, metadata, context }),
    testEvent({ actor: bob, target: ada, metadata, context }),
    testEvent({ actor: ada, target: ada, metadata, context }),
    testEvent({ actor: bob, target: bob, metadata, context }),
    testEvent({ actor: { ...ada, type: "robot" }, target: bob, metadata, context }),
    testEvent({ actor: { ...ada, id: "USR_ADA" }, target: bob, metadata, context }),
  ])
  // A hold on her covers the same entries.
  const scope = { subject: { id: "usr_ada", types: ["user"] } }
  const holdsOf = createHoldsOf([{ id: "hold_1", scope }], unpaced)
  const covered = [1, 2, 3, 4, 5, 6].map(
    async (at) => (await holdsOf(await house.entry(at))).length,
  )
  assert.deepEqual(await Promise.all(covered), [1, 1, 1, 0, 0, 0])
  const untouched = await Promise.all([4, 5, 6].map((sequence) => house.entry(sequence)))
  const { asked, done } = await house.erase({ id: "usr_ada", types: ["user"] })
  assert.deepEqual([asked.state, asked.entries, asked.fields], ["recording", 3, 4 + 2 + 6])
  assert.deepEqual([done.state, done.parts], ["done", 1])
  const left = { amount: 1 }
  assert.deepEqual(shown(await house.entry(1)), {
    actor: bare(ada),
    target: bob,
    metadata: left,
    context: undefined,
  })
  assert.deepEqual(shown(await house.entry(2)), {
    actor: bob,
    target: bare(ada),
    metadata,
    context,
  })
  assert.deepEqual(shown(await house.entry(3)), {
    actor: bare(ada),
    target: bare(ada),
    metadata: left,
    context: undefined,
  })
  assert.deepEqual(await Promise.all([4, 5, 6].map((sequence) => house.entry(sequence))), untouched)
})

test("an entry names sequences and digests before they are destroyed, and a last entry records the end", async () => {
  await using house = openHouse()
  await house.write([
    testEvent({ actor: ada, target: bob }),
    testEvent({ actor: bob, target: bob }),
  ])
  const digests = disclosuresFor(await house.entry(1), "actor").map((one) => digest(one, sha256))
  const { id } = await house.erase({ id: "usr_ada" })
  const own = await Promise.all([3, 4, 5].map((sequence) => house.entry(sequence)))
  const bodies = own.map(({ body }) => parseBody(body ?? new Uint8Array()))
  const said = bodies.map((body) => (typeof body === "string" ? body : body["action"]))
  assert.deepEqual(said, [
    "privacy.erasure.request",
    "privacy.subject.erase",
    "privacy.erasure.complete",
  ])
  const kinds = own.map(({ record }) => parseRecord(record)?.kind)
  assert.deepEqual(kinds, ["admin", "erasure", "erasure"])
  const part = bodies[1]
  assert.ok(typeof part === "object")
  const fields = [{ sequence: 1, digests: digests.toSorted() }]
  const destroyed = readDestroyed("erasure", 4, part)
  assert.deepEqual(
    destroyed?.fields.map((one) => ({ ...one, digests: one.digests.toSorted() })),
    fields,
  )
  for (const entry of own)
    assert.ok(!Buffer.from(entry.body ?? []).includes("usr_ada"), "no body names the person")
  assert.ok(house.erasuresFile.has(id))
})

test("an erasure of whole entries destroys the bodies, and the request and its document lose the id", async () => {
  await using house = openHouse()
  await house.write([
    testEvent({ actor: ada, target: bob }),
    testEvent({ actor: bob, target: bob }),
    testEvent({ actor: bob, target: ada }),
  ])
  const { id, asked, done } = await house.erase({ id: "usr_ada" }, "entries")
  assert.deepEqual([asked.entries, asked.fields, asked.subject], [2, 8, { id: "usr_ada" }])
  assert.deepEqual([done.state, done.subject], ["done", undefined])
  const gone = await Promise.all([1, 3].map((sequence) => house.entry(sequence)))
  assert.deepEqual(
    gone.map(({ body, bodySalt, disclosures }) => [body, bodySalt, disclosures]),
    [
      [undefined, undefined, ""],
      [undefined, undefined, ""],
    ],
  )
  assert.ok((await house.entry(2)).body !== undefined)
  const all = await house.served.journal.after(workspace.id, 0, 100)
  for (const entry of all) {
    const text = `${Buffer.from(entry.body ?? []).toString()} ${disclosuresOf(entry)
      .map((one) => Buffer.from(one, "base64url").toString())
      .join()}`
    assert.ok(!text.includes("usr_ada"), `entry ${entry.sequence}: ${text}`)
  }
  assert.equal((await house.served.registry.get("erasure", workspace.id, id))?.value.state, "done")
})

test("later entries are not covered, and a second erasure finds them", async () => {
  await using house = openHouse()
  await house.write([testEvent({ actor: ada, target: bob })])
  await house.erase({ id: "usr_ada" })
  await house.write([testEvent({ actor: ada, target: bob })])
  const later = (await house.served.journal.head(workspace.id))?.sequence ?? 0
  assert.deepEqual(shown(await house.entry(later)).actor, ada)
  const { asked } = await house.erase({ id: "usr_ada" })
  assert.deepEqual([asked.entries, asked.fields], [1, 2])
  assert.deepEqual(shown(await house.entry(later)).actor, bare(ada))
})

test("a held erasure waits for the last hold", async () => {
  let holds: readonly string[] = ["hold_1", "hold_2"]
  await using house = openHouse(() => holds)
  await house.write([testEvent({ actor: ada, target: bob })])
  const { id, asked, done } = await house.erase({ id: "usr_ada" })
  assert.deepEqual([asked.state, asked.holds, done.state], ["held", holds, "held"])
  holds = ["hold_2"]
  await house.erasures.carryOut(workspace)
  assert.deepEqual(shown(await house.entry(1)).actor, ada)
  await house.write([testEvent({ actor: ada, target: bob })])
  const later = (await house.served.journal.head(workspace.id))?.sequence ?? 0
  holds = []
  await house.erasures.carryOut(workspace)
  const released = await house.served.registry.get("erasure", workspace.id, id)
  assert.deepEqual([released?.value.state, released?.value.holds], ["done", undefined])
  assert.deepEqual(shown(await house.entry(1)).actor, bare(ada))
  assert.deepEqual(shown(await house.entry(later)).actor, ada, "after the request")
})

test("a hold that is placed between the request and its first part applies", async () => {
  let holds: readonly string[] = []
  await using house = openHouse(() => holds)
  await house.write([testEvent({ actor: ada, target: bob })])
  const request = { subject: { id: ada.id }, scope: "fields", reason: "asked by letter" } as const
  const { id, value } = await house.erasures.request(by, workspace, request)
  assert.equal(value.state, "recording")
  holds = ["hold_1"]
  await house.erasures.carryOut(workspace)
  assert.deepEqual(shown(await house.entry(1)).actor, ada)
  const held = await house.served.registry.get("erasure", workspace.id, id)
  assert.deepEqual([held?.value.state, held?.value.holds], ["held", holds])
  holds = []
  await house.erasures.carryOut(workspace)
  assert.deepEqual(shown(await house.entry(1)).actor, bare(ada))
  const done = await house.served.registry.get("erasure", workspace.id, id)
  assert.deepEqual([done?.value.state, done?.value.holds], ["done", undefined])
})

test("a hold that is placed while an erasure is recorded applies", async () => {
  for (const placedAt of [0, 1]) {
    const placed: string[] = []
    let asked = 0
    await using house = openHouse(async () => {
      const found = [...placed]
      if (asked++ === placedAt) placed.push((await holds.place(by, workspace, hold)).id)
      return found
    })
    const { journal } = house.served
    const holds = createHolds({ ...house.parts, journal, pace: unpaced })
    const hold = { name: "A case", reason: "a test", scope: { subject: { id: ada.id } } }
    await house.write([testEvent({ actor: ada })])
    const { id, asked: answer, done } = await house.erase({ id: ada.id })
    assert.equal(answer.state, placedAt === 0 ? "held" : "recording")
    assert.deepEqual([done.state, done.holds], ["held", placed])
    // The same while it begins, after that hold was released.
    placed.length = 0
    asked = placedAt
    await house.erasures.carryOut(workspace)
    const left = await house.served.registry.get("erasure", workspace.id, id)
    assert.deepEqual([left?.value.state, placed.length], ["held", 1])
    assert.deepEqual(shown(await house.entry(1)).actor, ada)
  }
})

test("content that another copy has erased is erased here, even if a hold that ended there is still active here", async () => {
  await using house = openHouse(() => ["hold_1"])
  await house.write([testEvent({ actor: ada, target: bob })])
  const digests = disclosuresFor(await house.entry(1), "actor").map((one) => digest(one, sha256))
  const { id, done } = await house.erase({ id: ada.id })
  assert.equal(done.state, "held")
  const [epoch] = epochsOf(workspace)
  const block = { origin: epoch.origin, id, bodies: [], fields: [{ index: 0, digests }] }
  await house.erasures.repeat(workspace, id, [block])
  assert.deepEqual(shown(await house.entry(1)).actor, bare(ada))
  const repeated = await house.served.registry.get("erasure", workspace.id, id)
  assert.equal(repeated?.value.state, "done")
})

test("an erasure of many entries is recorded in several parts, and ids of any length and form are found", async () => {
  await using house = openHouse()
  const ids = ["z".repeat(700), `${"z".repeat(700)}z`, "@@", "a b", "İß"]
  for (const id of ids) {
    const one = { ...ada, id }
    const drafts = Array.from({ length: 12 }, (_, at) =>
      testEvent({ actor: at % 2 === 0 ? one : bob, target: at % 2 === 0 ? bob : one }),
    )
    await house.write(drafts)
  }
  for (const id of ids) {
    const { asked, done } = await house.erase({ id })
    assert.deepEqual([asked.entries, done.state], [12, "done"], id.slice(0, 9))
  }
  await house.write(Array.from({ length: 1000 }, () => testEvent({ actor: ada, target: ada })))
  await house.parts.file(workspace.id)
  const { done } = await house.erase({ id: ada.id })
  assert.deepEqual([done.entries, done.fields, done.state], [1000, 4000, "done"])
  assert.ok(done.parts > 2)
  // Segments of the search had these fields, too.
  const term = { kind: "text", not: false, words: wordsOf(ada.email), isPrefix: false } as const
  const wanted = { system: "with", query: { terms: [term] } } as const
  const found = await house.served.search.find(workspace.id, wanted, Number.MAX_SAFE_INTEGER, 10)
  assert.deepEqual(found?.sequences, [])
})

/** Of a body: one that cannot be read, and one that is not what was recorded. */
const damages: readonly ((body: string) => string)[] = [
  (body) => body.replace("{", "["),
  (body) => body.replace('"action":"', '"action":"x'),
]

/** A house whose erasures read a wrong body of this entry until it is repaired. */
function openDamagedHouse(damaged: number, damage: (body: string) => string) {
  let isDamaged = true
  const house = openHouse(undefined, undefined, (parts) => ({
    ...parts,
    store: {
      ...parts.store,
      journal: {
        ...parts.store.journal,
        at: async (...asked) =>
          (await parts.store.journal.at(...asked)).map((entry) =>
            entry?.sequence === damaged && entry.body !== undefined && isDamaged
              ? { ...entry, body: Buffer.from(damage(Buffer.from(entry.body).toString())) }
              : entry,
          ),
      },
    },
  }))
  return Object.assign(house, { repair: () => void (isDamaged = false) })
}

test("an erasure does not pass over an entry of its own that is damaged", async () => {
  for (const damage of damages) {
    // After the entry of the person and that of the request.
    await using house = openDamagedHouse(3, damage)
    await house.write([testEvent({ actor: ada, target: bob })])
    const request = { subject: { id: ada.id }, scope: "fields", reason: "asked by letter" } as const
    const { id } = await house.erasures.request(by, workspace, request)
    await assert.rejects(house.erasures.carryOut(workspace), hasCode("integrity_failure"))
    const stateOf = async () =>
      (await house.served.registry.get("erasure", workspace.id, id))?.value.state
    assert.equal(await stateOf(), "destroying")
    assert.ok(!house.erasuresFile.has(id))
    house.repair()
    await house.erasures.carryOut(workspace)
    assert.equal(await stateOf(), "done")
    assert.ok(house.erasuresFile.has(id))
    assert.equal(disclosuresFor(await house.entry(1), "actor").length, 0)
  }
})

test("a damaged entry stops no other erasure of its workspace", async () => {
  for (const damage of damages) {
    // What the first of the two says that it destroys.
    await using house = openDamagedHouse(5, damage)
    await house.write([testEvent({ actor: ada }), testEvent({ actor: bob })])
    const asked = { scope: "fields", reason: "asked by letter" } as const
    const ids: string[] = []
    for (const { id } of [ada, bob])
      ids.push((await house.erasures.request(by, workspace, { ...asked, subject: { id } })).id)
    await assert.rejects(house.erasures.carryOut(workspace), hasCode("integrity_failure"))
    const states = ids.map(async (id) => {
      return (await house.served.registry.get("erasure", workspace.id, id))?.value.state
    })
    assert.deepEqual(new Set(await Promise.all(states)), new Set(["destroying", "done"]))
    house.repair()
    await house.erasures.carryOut(workspace)
  }
})

test("a start that cannot finish an erasure because of a damaged entry says which", async () => {
  for (const damage of damages) {
    await using house = openDamagedHouse(4, damage)
    await house.write([testEvent({ actor: ada, target: bob })])
    const { registry, journal } = house.served
    const { id: acme, value } = workspace
    const created = { kind: "workspace", id: acme, version: 0, value } as const
    await openTestLedger(journal, { registry }).record(workspace, [testEvent()], [created])
    const request = { subject: { id: ada.id }, scope: "fields", reason: "asked by letter" } as const
    const { id } = await house.erasures.request(by, workspace, request)
    const { origin } = epochsOf(workspace)[0]
    const block = { origin, id, bodies: [], fields: [{ index: 0, digests: ["some"] }] }
    const blocks = [{ ...block, id: "era_of_others" }, block]
    const parts = { store: house.served, registry, erasures: house.erasures }
    const start = eraseAgain({ ...parts, path: "erasures", blocks, readOnly: undefined })
    await assert.rejects(start, (error) => {
      return error instanceof StartError && /entry 4 is damaged/.test(error.message)
    })
    assert.equal(await registry.get("erasure", acme, "era_of_others"), undefined)
  }
})

test("an erasure does not pass over an entry about the person that is damaged", async () => {
  for (const damage of damages) {
    await using house = openDamagedHouse(2, damage)
    await house.write([testEvent({ actor: bob }), testEvent({ actor: ada })])
    const request = { subject: { id: ada.id }, scope: "fields", reason: "asked by letter" } as const
    await assert.rejects(
      house.erasures.request(by, workspace, request),
      hasCode("integrity_failure"),
    )
    house.repair()
    assert.equal((await house.erase({ id: ada.id })).done.entries, 1)
  }
})

test("erasure requests of one workspace run one after the other, and let other work run", async () => {
  let [turns, under, most] = [0, 0, 0]
  const pace: Pace = { isUp: () => true, next: async () => void turns++ }
  const holds = async () => {
    most = Math.max(most, ++under)
    await setImmediate()
    under -= 1
    return []
  }
  await using house = openHouse(holds, pace)
  await house.write(Array.from({ length: 100 }, () => testEvent({ actor: ada, target: bob })))
  const asked = { subject: { id: ada.id }, scope: "fields" } as const
  const looks = await Promise.all([1, 2, 3].map(() => house.erasures.preview(workspace, asked)))
  assert.deepEqual(
    looks.map(({ entries }) => entries),
    [100, 100, 100],
  )
  assert.deepEqual([most, turns], [1, 300])
})

test("holds are compared with a person's entries in turns, until the client leaves", async () => {
  let turns = 0
  const left = new AbortController()
  const pace: SharedPace = {
    isUp: () => true,
    next: async () => void (++turns === 50 && left.abort(new Error("the client has left"))),
    of: () => pace,
  }
  await using house = openHouse()
  await house.write(Array.from({ length: 100 }, () => testEvent({ actor: ada, target: bob })))
  const { registry, journal } = house.served
  const ledger = openTestLedger(journal, { registry })
  const holds = createHolds({
    registry,
    ledger,
    journal,
    clock: systemClock,
    limits: defaultLimits,
    pace,
  })
  const scope = { filter: { query: "nothing has this word" } }
  await holds.place(by, workspace, { name: "case 7", reason: "asked by letter", scope })
  const sequences = Array.from({ length: 100 }, (_, at) => at + 1)
  await assert.rejects(holds.among(workspace.id, { id: ada.id }, sequences, left.signal), {
    message: "the client has left",
  })
  assert.equal(turns, 50)
})

test("two processes that carry out one erasure record each part of it once", async () => {
  await using house = openHouse()
  await house.write(Array.from({ length: 1000 }, () => testEvent({ actor: ada, target: ada })))
  const request = { subject: { id: ada.id }, scope: "fields", reason: "asked by letter" } as const
  const { id } = await house.erasures.request(by, workspace, request)
  const other = house.otherErasures()
  await Promise.all([house.erasures.carryOut(workspace), other.carryOut(workspace)])
  const done = await house.served.registry.get("erasure", workspace.id, id)
  const sequences: number[] = []
  const actions: unknown[] = []
  for (const { record, sequence, body } of await house.served.journal.after("acme", 1001, 100)) {
    const said = body && parseBody(body, "acme")
    if (typeof said !== "object") assert.fail(`entry ${sequence} cannot be read`)
    actions.push(said["action"])
    const kind = parseRecord(record)?.kind ?? "event"
    for (const one of readDestroyed(kind, sequence, said)?.fields ?? [])
      sequences.push(one.sequence)
  }
  assert.deepEqual(
    sequences,
    Array.from({ length: 1000 }, (_, at) => at + 1),
  )
  const parts = Array.from({ length: done?.value.parts ?? 0 }, () => "privacy.subject.erase")
  assert.deepEqual(actions, [...parts, "privacy.erasure.complete"])
})

test("what was handed out is complete: with exports made while content was being destroyed, and removed tokens", async () => {
  const receipts: string[] = []
  const asked = { format: "csv", filter: { query: "actor:usr_ada" } }
  await using house = openHouse(undefined, undefined, (parts) => ({
    ...parts,
    async removeFromArchive() {
      receipts.push(await recordEventsExport(parts, by, workspace, asked))
    },
  }))
  await house.write([testEvent({ actor: ada })])
  const subject = { id: ada.id, types: [ada.type] }
  const tokens = createTokens({ ...house.parts, rootKeys: ["a root key"] })
  const bound = { type: "activity", projectId: "core", subject } as const
  const { document } = await tokens.create(by, workspace, bound, {})
  const { receipt } = await house.entry(1)
  const shown = await tokens.create(by, workspace, { type: "receipt", receipt }, {})
  const { asked: requested, done } = await house.erase({ id: ada.id }, "entries")
  const given = [shown.document.id, document.id]
  assert.deepEqual(requested.handedOut.tokens, given)
  const registry = house.served.registry
  assert.equal(await registry.get("token", workspace.id, document.id), undefined)
  const out = { packs: [], tokens: given, exports: receipts, more: 0 }
  assert.deepEqual([done.handedOut, receipts.length], [out, 1])
})

/** A hold on requests that name the types of a person. */
function holding(isHeld: () => boolean) {
  return (parts: ErasureParts): ErasureParts => ({
    ...parts,
    holdsOn: async (_, { types }) => (isHeld() && types !== undefined ? ["hold_1"] : []),
  })
}

/** A link, a hold and an earlier erasure, which all name Ada, and none of which is over. */
async function nameAda(house: ReturnType<typeof openHouse>) {
  const { registry, journal } = house.served
  const holds = createHolds({ ...house.parts, journal, pace: unpaced })
  const tokens = createTokens({ ...house.parts, rootKeys: ["a root key"] })
  await house.write([testEvent({ actor: ada })])
  const subject = { id: ada.id, types: [ada.type] }
  const bound = { type: "activity", projectId: "core", subject } as const
  const { document } = await tokens.create(by, workspace, bound, {})
  const asked = { name: "A case", reason: "a test", scope: { subject } }
  const hold = await holds.place(by, workspace, asked)
  const earlier = await house.erase(subject)
  assert.equal(earlier.done.state, "held")
  const release = () => holds.release(by, workspace, hold.id, "a test")
  const left = async () => ({
    token: await registry.get("token", workspace.id, document.id),
    hold: (await registry.get("hold", workspace.id, hold.id))?.value.scope,
    subject: (await registry.get("erasure", workspace.id, earlier.id))?.value.subject,
  })
  return { release, left }
}

const nothingLeft = { token: undefined, hold: { receiptIds: [] }, subject: undefined }

test("what is still open when whole entries are erased loses the person once it is over", async () => {
  let isHeld = true
  await using house = openHouse(
    undefined,
    undefined,
    holding(() => isHeld),
  )
  const { release, left } = await nameAda(house)
  const { done } = await house.erase({ id: ada.id }, "entries")
  assert.equal(done.state, "done")
  assert.notEqual((await left()).subject, undefined)
  isHeld = false
  await release()
  await house.erasures.carryOut(workspace)
  assert.deepEqual(await left(), nothingLeft)
})

test("a copy from before an erasure also loses the person in documents", async () => {
  let isHeld = true
  await using house = openHouse(
    undefined,
    undefined,
    holding(() => isHeld),
  )
  const { release, left } = await nameAda(house)
  await release()
  isHeld = false
  await house.erasures.carryOut(workspace)
  const [token, hold, request] = await Promise.all([2, 3, 4].map((at) => house.entry(at)))
  assert.ok(token !== undefined && hold !== undefined && request !== undefined)
  const fields = [hold, request].map((entry) => ({
    index: entry.sequence - 1,
    digests: disclosuresFor(entry, "target").map((one) => digest(one, sha256)),
  }))
  // At the first place, another entry stands here.
  const hash = toBase64(eventHash(token.record, sha256))
  const bodies = [0, 1].map((index) => ({ index, hash }))
  const [{ origin }] = epochsOf(workspace)
  await house.erasures.repeat(workspace, "era_1", [{ origin, id: "era_1", bodies, fields }])
  assert.deepEqual(await left(), nothingLeft)
  const stored = await house.served.journal.at(workspace.id, [1, 2])
  assert.deepEqual(
    stored.map((entry) => entry?.body === undefined),
    [false, true],
  )
})

test("another process recognises destroyed fields, even with cached documents", async () => {
  const staleMsMax = 3000
  let elapsedMs = 0
  let looks = 0
  const elapsed = () => elapsedMs
  const sleep = async (ms: number) => void (elapsedMs += ms)
  await using house = openHouse(undefined, undefined, (parts) => ({
    ...parts,
    registry: { ...parts.registry, staleMsMax },
    clock: { ...systemClock, elapsed, sleep },
    content: {
      ...parts.content,
      async keepDisclosures(id, remaining) {
        const gone = await readGone(other, id, [1, 2])
        for (const { sequence } of remaining) assert.equal(gone(sequence)?.what, "fields")
        looks += 1
        return parts.content.keepDisclosures(id, remaining)
      },
    },
  }))
  const other = cacheRegistry({ ...house.served.registry, staleMsMax }, { elapsed })
  await house.write([testEvent({ actor: ada }), testEvent({ actor: bob })])
  for (const { id } of [ada, bob]) {
    await house.erase({ id })
    await readGone(other, workspace.id, [1])
  }
  assert.equal(looks, 2)
})

test("an erasure that another server has left is carried out without a further entry", async () => {
  await using house = openHouse()
  await house.write([testEvent({ actor: ada })])
  const request = { subject: { id: ada.id }, scope: "fields", reason: "asked by letter" } as const
  const { id } = await house.erasures.request(by, workspace, request)
  let elapsedMs = 0
  let isOurs = false
  let asked = 0
  const waiting: (() => void)[] = []
  const failures: string[] = []
  const erasures = house.otherErasures()
  const erasing = startErasing({
    erasures: {
      ...erasures,
      async carryOut(...asked) {
        if (failures.length === 0) throw new Error("the disk fails")
        await erasures.carryOut(...asked)
      },
    },
    workspaces: { get: async () => workspace },
    async *grown() {
      yield [workspace.id]
    },
    async isOurs() {
      asked += 1
      return isOurs
    },
    clock: {
      ...systemClock,
      elapsed: () => elapsedMs,
      sleep: () => new Promise((wake) => waiting.push(wake)),
    },
    failed: (_, error) => void failures.push(String(error)),
  })
  const pass = async (seconds: number) => {
    for (let at = 0; at < seconds; at++) {
      while (waiting.length === 0) await setImmediate()
      elapsedMs += 1000
      for (const wake of waiting.splice(0)) wake()
    }
    while (waiting.length === 0) await setImmediate()
  }
  await pass(18)
  isOurs = true
  await pass(12)
  const done = await house.served.registry.get("erasure", workspace.id, id)
  assert.equal(done?.value.state, "done", "five seconds after it has failed")
  await pass(88)
  await erasing.close()
  assert.deepEqual(failures, ["Error: the disk fails"])
  assert.equal(asked, 5, "every five seconds, until nothing is open")
})
