import assert from "node:assert/strict"
import { test } from "node:test"
import { damage, type Damage } from "../promises/damaged.ts"
import { expectChain } from "../chain.ts"
import {
  eventFor,
  eventually,
  makeKey,
  makeWorkspace,
  startService,
  writeEvent,
  type Client,
} from "../service.ts"
import { expectRows, type Row } from "./table.ts"

// An entry that was changed on the disk may have lost its project. Readers of every project see it
// as broken; readers of some projects see nothing of another project's entry.

const personal = ["ada@example.com", "Invoice 9", "whispered"]

/** How an entry is damaged, and whether its project can still be read. */
const damages: readonly (readonly [Damage, saysProject: boolean])[] = [
  ["a byte of what is sealed", true],
  ["the body", false],
]

test("a key for one project sees nothing of another project's entry, even when that entry is broken", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  const write = async (projectId: string) =>
    (await writer.write(eventFor(id, { projectId, metadata: { note: "whispered" } }))).json<{
      receipt: string
    }>().receipt
  const theirs = await write("theirs")
  await write("mine")
  const mine = await makeKey(service, id, { scopes: ["read"], projectIds: ["mine"] })
  const owner = await makeKey(service, id, { scopes: ["read"], projectIds: ["theirs"] })
  const anonymous = service.client()
  const address = `${path}/receipts/${theirs}`
  const outOfReach = (about: string): readonly Row[] =>
    [
      { as: mine, ask: `GET ${address}`, gets: "404 not_found" },
      { as: mine, ask: `GET ${address}/proof`, gets: "404 not_found" },
      { as: anonymous, ask: `GET ${address}`, gets: "401 unauthorized" },
    ].map((row) => ({ about, ...row, hasNot: personal }))
  // Once the broken entry was found, this workspace takes no writes.
  const made: readonly Row[] = [
    { about: "whole", as: mine, ask: `POST ${address}/token`, send: {}, gets: "404 not_found" },
    {
      about: "whole",
      as: mine,
      ask: `POST ${path}/evidence-packs`,
      send: { title: "All", receiptIds: [theirs] },
      gets: "404 not_found",
    },
  ]
  await expectRows([
    ...outOfReach("whole"),
    ...made,
    { as: owner, ask: `GET ${address}`, gets: 200, has: personal, shows: { verified: true } },
  ])

  for (const [what, saysProject] of damages) {
    damage(service.data, theirs, what)
    const shown: Row = {
      about: what,
      as: reader,
      ask: `GET ${address}`,
      gets: 200,
      shows: { verified: false, entry: { integrity: "broken" } },
    }
    await expectRows([
      ...outOfReach(what),
      shown,
      { ...shown, as: owner, ...(!saysProject && { gets: "404 not_found", shows: {} }) },
    ])
  }
  assert.equal(await service.end(), 0)
})

test("the state of a consent is refused while an entry about it is broken", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  const about = { workspaceId: id, subject: { id: "usr_1", email: "ada@example.com" } }
  const consent = { ...about, policyVersion: 1, mode: "explicit", surface: "form" }
  const reply = await writer.post("/v1/consents", consent, { "idempotency-key": "the-consent-1" })
  assert.equal(reply.status, 202, reply.text)
  const row = { as: reader, ask: `GET ${path}/consents?subject=usr_1` }
  await expectRows([{ ...row, gets: 200, shows: { state: "given" } }])
  damage(service.data, reply.json().receipt.receipt, "a byte of the body")
  const has = ["integrity_failure", "the state of this consent is unknown"]
  await expectRows([{ ...row, gets: 503, has }])
})

test("a batch of which one workspace has recorded its part is not refused for another's broken entry", async () => {
  await using service = await startService()
  const [broken, sound] = [await makeWorkspace(service), await makeWorkspace(service)]
  const idempotencyKey = crypto.randomUUID()
  const write = (...ids: readonly string[]) =>
    service.root.post("/v1/events/batch", {
      events: ids.map((id) => ({ ...eventFor(id), idempotencyKey })),
    })
  for (const { path } of [broken, sound]) await service.root.patch(path, { projects: "open" })
  const { results } = (await write(broken.id)).json()
  damage(service.data, results[0].receipt.receipt, "the body")
  for (const [ids, error] of [
    [[sound.id, broken.id], "ledger_unavailable"],
    [[broken.id], "integrity_failure"],
  ] as const) {
    const reply = await write(...ids)
    assert.deepEqual([reply.status, reply.json().error], [503, error], reply.text)
  }
  await expectChain(service.root, sound.id)
})

test("a batch fails as a whole if any event goes to a halted workspace", async () => {
  const quick = {
    TALLYSTICK_LIMIT_AUDIT_ENTRIES_PER_SECOND: "20000",
    TALLYSTICK_LIMIT_AUDIT_ROUND_EVERY_MS: "100",
  }
  await using service = await startService({ environment: quick })
  const [broken, sound] = [await makeWorkspace(service), await makeWorkspace(service)]
  const { receipt } = await writeEvent(broken)
  damage(service.data, receipt, "the body")
  const send = (by: Client, workspaces: readonly string[]) =>
    by.post("/v1/events/batch", {
      events: [
        { idempotencyKey: "x" },
        ...workspaces.map((id) => ({ ...eventFor(id), idempotencyKey: crypto.randomUUID() })),
      ],
    })
  await eventually(
    "it is halted",
    async () => (await send(broken.writer, [broken.id])).status === 503,
  )
  const reply = await send(broken.writer, [broken.id])
  assert.equal(reply.json().error, "integrity_failure", reply.text)
  const other = await send(sound.writer, [sound.id, broken.id])
  assert.deepEqual(
    [other.status, other.json().results.map(({ error }: { error?: string }) => error)],
    [202, ["invalid_field", undefined, "workspace_forbidden"]],
  )
  await expectChain(service.root, sound.id)
})
