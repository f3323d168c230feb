import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { commitmentTo } from "../../workspace/credential-format.ts"
import type { MembershipDocument, Document } from "../../store/documents.ts"
import type { Registry } from "../../store/store.ts"
import { testWorkspace } from "../../ledger/test-ledger.ts"
import { applyAct, type RecordedAct } from "./registry-replay.ts"
import { beginReplay, compareRegistry } from "./registry-check.ts"

const base = { workspace: "acme", version: 1, created: 1 } as const
const mac = "a".repeat(64)
const commitment = commitmentTo(mac)
const key: Document<"api-key"> = {
  ...base,
  kind: "api-key",
  id: "key",
  value: {
    name: "a key",
    scopes: ["read"],
    mac,
    createdAt: "2026-01-01T00:00:00.000Z",
    createdBy: "instance",
  },
}
const setup: Document<"setup"> = {
  ...base,
  kind: "setup",
  id: "setup",
  value: { memberId: "ada", purpose: "join", mac, expiresAt: "2026-01-02T00:00:00.000Z" },
}
const membership: Document<"membership"> = {
  ...base,
  kind: "membership",
  id: "ada",
  value: {
    email: "ada@example.com",
    role: "viewer",
    createdAt: "2026-01-01T00:00:00.000Z",
    createdBy: "instance",
    setupId: "setup",
  },
}

const at = { by: "instance", occurredAt: "2026-01-01T00:00:00.000Z" } as const
const created: RecordedAct = {
  ...at,
  sequence: 3,
  action: "security.key.create",
  id: "key",
  metadata: { scopes: ["read"], commitment },
}
const invited: RecordedAct = {
  ...at,
  sequence: 4,
  action: "security.member.invite",
  id: "ada",
  metadata: { role: "viewer", setupId: "setup", commitment, expiresAt: setup.value.expiresAt },
}
test("another credential than the one that its act commits to is a fault, and so is one whose act commits to none", async () => {
  const acts = [created, invited]
  assert.deepEqual(await compare(acts, [key, setup, membership]), [])
  const other = { mac: "b".repeat(64) }
  const changed = [
    { ...key, value: { ...key.value, ...other } },
    { ...setup, id: "another", value: { ...setup.value, ...other } },
    membership,
  ]
  const faults = await compare(acts, changed)
  assert.deepEqual(
    faults.map(({ sequence, what }) => [sequence, what]),
    [
      [3, "API key key differs from what this entry recorded: commitment"],
      [4, "set-up token of ada to join differs from what this entry recorded: id"],
    ],
  )
  const bare = { ...created, metadata: { scopes: ["read"] } }
  const [uncommitted] = await compare([bare], [key])
  assert.equal(uncommitted?.what, "API key key differs from what this entry recorded: commitment")
})

test("a member who was added without an invitation is what the act says, since then", async () => {
  const added: RecordedAct = {
    ...at,
    sequence: 4,
    action: "security.member.add",
    id: "ada",
    metadata: { role: "viewer" },
    email: "ada@example.com",
  }
  const { setupId: _, ...about } = membership.value
  const joined = (changes: Partial<MembershipDocument>): Document<"membership"> => ({
    ...membership,
    value: { ...about, joinedAt: at.occurredAt, ...changes },
  })
  const faultsOf = async (document: Document<"membership">) =>
    (await compare([added], [document])).map(({ what }) => what)
  assert.deepEqual(await faultsOf(joined({})), [])
  const changed = {
    role: "admin",
    email: "eve@example.com",
    joinedAt: "2025-01-01T00:00:00.000Z",
    createdBy: "ada",
  } as const
  for (const [name, value] of Object.entries(changed))
    assert.deepEqual(await faultsOf(joined({ [name]: value })), [
      `member ada differs from what this entry recorded: ${name}`,
    ])
})

test("a verifier that packs carry is there, with the text that they name, and no other", async () => {
  const html = "<!doctype html>"
  const id = createHash("sha256").update(html).digest("hex")
  const verifier: Document<"verifier"> = { ...base, kind: "verifier", id, value: { html } }
  const pack: Document<"pack"> = {
    ...base,
    kind: "pack",
    id: "pack",
    value: {
      title: "T",
      createdAt: at.occurredAt,
      sequences: [1],
      projectIds: [],
      policies: [],
      checkpoint: "",
      packHash: "00",
      form: 2,
      verifier: id,
    },
  }
  const metadata = { packHash: "00", verifier: id, projects: commitmentTo("[]") }
  const made = { ...at, sequence: 7, action: "evidence.pack.create", id: "pack", metadata }
  const older = { ...made, metadata: { packHash: "00", projects: commitmentTo("[]") } }
  const { verifier: _, ...without } = pack.value
  const cases: readonly (readonly [RecordedAct, readonly Document[], readonly string[]])[] = [
    [made, [pack, verifier], []],
    [older, [{ ...pack, value: without }], []],
    [made, [pack], [`it records verifier ${id}, which is missing`]],
    [made, [pack, { ...verifier, value: { html: "" } }], [`verifier ${id} differs`]],
    [made, [{ ...pack, value: without }, verifier], ["evidence pack pack differs"]],
    [older, [pack], ["evidence pack pack differs"]],
    [
      older,
      [{ ...pack, value: without }, verifier],
      [`verifier ${id} is in the registry, and no entry records it`],
    ],
  ]
  for (const [act, documents, says] of cases) {
    const faults = await compare([act], documents)
    assert.equal(faults.length, says.length, JSON.stringify(faults))
    for (const [place, start] of says.entries())
      assert.equal(faults[place]?.what.slice(0, start.length), start)
  }
})

test("a session that is there although its end is recorded is a fault; one that goes on is none", async () => {
  const memberIds = ["ada", "ada-too"]
  const expiresAt = "2026-01-02T00:00:00.000Z"
  const session: Document<"session"> = {
    ...base,
    kind: "session",
    id: "session",
    value: { memberIds, mac, createdAt: at.occurredAt, expiresAt },
  }
  const opened = {
    ...at,
    sequence: 5,
    action: "security.session.create",
    id: "session",
    metadata: { memberIds, expiresAt, commitment },
  }
  const said = (
    action: string,
    id: string,
    metadata: RecordedAct["metadata"] = {},
  ): RecordedAct => ({
    ...at,
    sequence: 6,
    action: `security.${action}`,
    id,
    metadata,
  })
  // No accounts are there, so that sessions alone are looked at.
  const faultsAfter = async (...acts: readonly RecordedAct[]) => {
    const faults = await compare([opened, ...acts], [session])
    return faults.map(({ what }) => what).filter((what) => what.startsWith("session"))
  }
  const ended = ["session session differs from what this entry recorded: isEnded"]
  assert.deepEqual(await faultsAfter(), [])
  assert.deepEqual(await faultsAfter(said("session.end", "session")), ended)
  assert.deepEqual(await faultsAfter(said("session.end", "another")), [])
  assert.deepEqual(await faultsAfter(said("password.replace", "ada")), ended)
  assert.deepEqual(await faultsAfter(said("password.replace", "grace")), [])
  assert.deepEqual(
    await faultsAfter(said("password.change", "ada", { sessionId: "another" })),
    ended,
  )
  assert.deepEqual(await faultsAfter(said("password.change", "ada", { sessionId: "session" })), [])
  const removed = said("account.remove", "ada")
  assert.deepEqual(await faultsAfter(removed), [], "it speaks for another account as well")
  assert.deepEqual(await faultsAfter(removed, said("password.replace", "ada")), [])
  assert.deepEqual(await faultsAfter(removed, said("account.remove", "ada-too")), ended)
})

async function compare(acts: readonly RecordedAct[], documents: readonly Document[]) {
  const registry: Pick<Registry, "list"> = {
    // Documents of the kind that is asked for.
    list: async (kind, _, before) =>
      documents.filter((one) => one.kind === kind && before === undefined) as never,
  }
  const registered = await beginReplay(registry, "acme")
  for (const act of [createdWorkspace, ...acts]) applyAct(registered, act)
  return compareRegistry(registry, workspace, registered)
}

const createdWorkspace: RecordedAct = {
  ...at,
  sequence: 1,
  action: "workspace.create",
  id: "acme",
  metadata: { hotDays: 90 },
}
const workspace = testWorkspace()
