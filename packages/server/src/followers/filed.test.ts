import assert from "node:assert/strict"
import test from "node:test"
import { canonicalize, encodeRecord, type Kind } from "@tallystick/proof"
import { disclosuresOf, type Content } from "../store/opened-entry.ts"
import { pooledRandom } from "../ledger/random.ts"
import { seal } from "../ledger/seal.ts"
import type { Owner } from "../store/search/search.ts"
import type { Stored } from "../store/entries.ts"
import { filedOf } from "../store/search/searchable-fields.ts"

const content: Content = {
  id: "evt_1",
  receipt: "rcp_1",
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor: {
    id: "usr_1",
    type: "user",
    email: "ada@example.com",
    name: "Ada",
    desk: { floor: 3, tags: ["x", "y"] },
  },
  target: {
    id: "inv_9",
    type: "invoice",
    name: "Invoice 9",
    email: "billing@example.com",
    note: "late",
  },
  occurredAt: "2026-01-31T09:30:00.1234567+01:00",
  receivedAt: "2026-01-31T09:30:00.000Z",
  source: "api",
  userVisible: true,
  lane: "data",
  metadata: {
    amount: 12.5,
    paid: true,
    none: null,
    deep: { list: ["a", { b: 1 }], empty: {} },
    ssn: "123",
  },
  keyId: "key",
  context: { traceId: "trace-1", requestId: "request-1" },
}

function stored(
  kind: Kind,
  personalKeys: readonly string[],
  changes: Partial<Content> = {},
): Stored {
  const sealed = seal(kind, { ...content, ...changes }, "i".repeat(22), {
    personalKeys,
    random: pooledRandom(),
  })
  const hash = new Uint8Array(32)
  const record = encodeRecord({
    kind,
    index: 6,
    timeMs: 5,
    ledgerId: hash,
    previousHash: hash,
    bodyHash: sealed.bodyHash,
  })
  return { ...sealed, workspace: "acme", sequence: 7, record }
}

/** A line for each field: its names, its value, and a mark if it is text. */
function linesOf(entry: Stored, owner: Owner): readonly string[] {
  return filedOf(entry)
    .fields[owner].map(
      ({ names, value, isText }) => `${names.join("+")}=${value}${isText ? " (text)" : ""}`,
    )
    .toSorted()
}

const always = [
  "action=billing.invoice.approve (text)",
  "actor=usr_1 (text)",
  "id=evt_1 (text)",
  "lane=data",
  "project=core",
  "receipt=rcp_1 (text)",
  "source=api",
  "target=inv_9 (text)",
  "type=invoice",
  "type=user",
]
const openMetadata = [
  "metadata.amount=12.5 (text)",
  "metadata.deep.list.b=1 (text)",
  "metadata.deep.list=a (text)",
  "metadata.paid=true (text)",
]
const ofActor = [
  "=3 (text)",
  "=x (text)",
  "=y (text)",
  "actor+email=ada@example.com (text)",
  "actor+name=Ada (text)",
  "key=key",
  "trace=trace-1",
]
const ofTarget = ["=late (text)", "target+email=billing@example.com (text)"]

test("the filed fields are those of the entry, each with its owner", () => {
  const entry = stored("event", ["ssn"])
  const { fields: _, ...facts } = filedOf(entry)
  assert.deepEqual(facts, {
    sequence: 7,
    projectId: "core",
    isSystem: false,
    lane: "data",
    userVisible: true,
    occurredMs: Date.parse("2026-01-31T08:30:00.123Z"),
    occurredNs: 456_700,
    actor: { id: "usr_1", type: "user" },
    target: { id: "inv_9", type: "invoice" },
  })
  assert.deepEqual(linesOf(entry, "nobody"), [...always, "kind=event", ...openMetadata].toSorted())
  assert.deepEqual(linesOf(entry, "actor"), [...ofActor, "metadata.ssn=123 (text)"].toSorted())
  assert.deepEqual(
    linesOf(entry, "target"),
    [...ofTarget, "target+name=Invoice 9 (text)"].toSorted(),
  )
})

test("sealed metadata belongs to the actor, and the name of a policy to nobody", () => {
  const entry = stored("consent", ["*"], {
    target: { id: "core:1", type: "policy", name: "Policy version 1" },
    metadata: { surface: "web" },
  })
  assert.ok(linesOf(entry, "nobody").includes("target+name=Policy version 1 (text)"))
  assert.deepEqual(linesOf(entry, "target"), [])
  assert.deepEqual(linesOf(entry, "actor"), [...ofActor, "metadata.surface=web (text)"].toSorted())
})

test("the key id of an older entry is in clear, but belongs to the actor too", () => {
  const entry = stored("event", [], { keyId: undefined })
  const members = JSON.parse(Buffer.from(entry.body ?? []).toString())
  const older = { ...entry, body: Buffer.from(canonicalize({ ...members, keyId: "key" })) }
  assert.deepEqual(linesOf(older, "actor"), ofActor)
  assert.deepEqual(linesOf(older, "nobody"), linesOf(entry, "nobody"))
})

test("the service's own entries are marked as such", () => {
  assert.equal(filedOf(stored("admin", [], { projectId: "system" })).isSystem, true)
})

test("without its disclosure a field is missing, and the others are filed as before", () => {
  const entry = stored("event", ["ssn"])
  const erased = { ...entry, disclosures: "" }
  assert.deepEqual(linesOf(erased, "nobody"), linesOf(entry, "nobody"))
  assert.deepEqual([...linesOf(erased, "actor"), ...linesOf(erased, "target")], [])
})

test("an unreadable entry, or one with foreign disclosures, is filed with the fields that are known", () => {
  const entry = stored("event", [])
  const others = disclosuresOf(stored("event", [])).join("~")
  const broken: readonly Partial<Stored>[] = [
    { body: undefined },
    { body: Buffer.from("{") },
    { body: Buffer.from("[]") },
    {
      body: Buffer.from(
        Buffer.from(entry.body ?? [])
          .toString()
          .replace("2026-01-31T", "on the 31st "),
      ),
    },
    {
      body: Buffer.from(
        Buffer.from(entry.body ?? [])
          .toString()
          .replace('"actor":{', '"actress":{'),
      ),
    },
    { disclosures: others },
    { disclosures: "!" },
  ]
  for (const change of broken) {
    const filed = filedOf({ ...entry, ...change })
    assert.deepEqual(
      [filed.sequence, filed.projectId, filed.isSystem, filed.userVisible, filed.occurredMs],
      [7, "", false, false, 5],
    )
    assert.deepEqual(filed.fields, {
      nobody: [
        { names: ["receipt"], value: "rcp_1", isText: true },
        { names: ["kind"], value: "event", isText: false },
      ],
      actor: [],
      target: [],
    })
  }
  const bodiless = (kind: Kind) => filedOf({ ...stored(kind, []), body: undefined })
  for (const kind of ["policy", "erasure", "key", "retention", "admin"] as const)
    assert.equal(bodiless(kind).isSystem, true, kind)
  assert.equal(bodiless("consent").isSystem, false)
  assert.equal(filedOf({ ...entry, body: undefined, record: new Uint8Array(118) }).sequence, 7)
})
