import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { startProgram } from "../crash/programs.ts"
import {
  eventFor,
  makeWorkspace,
  type Client,
  type Reply,
  type Service,
  type Workspace,
} from "../service.ts"
import { audit } from "./audit.ts"
import { createChance, seedOf, type Chance } from "../chance.ts"
import { consentWrite, eventWrite, note, send, type Sending, type Write } from "./writes.ts"

// Every receipt verifies, by code that shares nothing with the code that wrote it and that notices
// a single changed bit. All other suites end with the same audit.

const flipsMin = 400

test("an entry of every kind verifies, and a change of any bit of its proof is found", async (t) => {
  const chance = createChance(seedOf(t))
  await using service = await startProgram()
  const workspaces = [
    await makeWorkspace(service),
    await makeWorkspace(service, { personalKeys: ["salary"] }),
    await makeWorkspace(service, { personalKeys: ["*"] }),
  ]
  let [entries, flips] = [0, 0]
  for (const workspace of workspaces) {
    const writes = await writeAllKinds(service, workspace, chance)
    const audited = await audit(service, { workspaces: [workspace], writes, chance })
    assert.equal(audited.lookedUp, writes.length)
    entries += audited.entries

    const receipts = writes.map(({ receipt = "{}" }) => JSON.parse(receipt) as MintedReceipt)
    const fetched = await fetchAll(service.client(workspace.reader.bearer), workspace, receipts)
    await expectFetched(fetched, workspace, receipts)
    for (let flip = 0; flip < flipsMin / workspaces.length; flip++, flips++) {
      const { flipped, where } = flipBit(fetched, chance)
      await assert.rejects(
        expectFetched(flipped, workspace, receipts),
        () => true,
        `nobody noticed ${where}`,
      )
    }
  }
  t.diagnostic(`${entries} entries, ${flips} flips`)
  assert.ok(entries >= 90 && flips >= flipsMin)
})

/**
 * Events and consents with and without everything that may be left out, and the administrative acts
 * that a client can cause.
 */
async function writeAllKinds(
  service: Service,
  { id, path, writer }: Workspace,
  chance: Chance,
): Promise<readonly Write[]> {
  const client = service.client(writer.bearer)
  for (const [method, place, body] of [
    ["PATCH", path, { name: "Änderung", hotDays: 30 }],
    ["POST", `${path}/projects`, { id: "open", receipts: "public", activityLinks: true }],
    ["PATCH", `${path}/projects/open`, { name: "Open again" }],
    ["POST", `${path}/api-keys`, { name: "a key", scopes: ["admin"], expiresInSeconds: 3600 }],
  ] as const) {
    const { status, text } = await service.root.ask(method, place, { body })
    assert.ok(status < 300, text)
  }
  const context = {
    "x-request-id": "req-1",
    "x-service-environment": "prod",
    "x-service-server": "a1",
    "x-session-id": Buffer.from("ŝ").toString("latin1"),
    "x-trace-id": "t",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  }
  const bare: Write = {
    route: "/v1/events",
    workspaceId: id,
    key: "a-bare-event",
    body: { ...eventFor(id) },
  }
  const odd = {
    ...eventFor(id, { projectId: "open", occurredAt: "0000-02-29t23:59:59.123456789-23:59" }),
    actor: {
      id: "‮\u0001",
      type: "💥",
      email: "",
      name: "",
      other: [1e21, 5e-324, -0, { "": null }],
    },
    target: { id: "0", type: "\u2028", "": "nothing", "9 or 10": 9.5 },
    metadata: { salary: 1.1, policyVersion: 7, b: { c: ["é", "e\u0301"] }, relatedReceiptIds: [] },
  }
  const sendings: readonly Sending[] = [
    [bare],
    [{ route: "/v1/events", workspaceId: id, key: "an-odd-event", body: odd }],
    [
      {
        ...bare,
        key: "an-event-of-tomorrow",
        body: { ...bare.body, occurredAt: "9999-12-31T23:59:59Z", metadata: { salary: 1 } },
      },
    ],
    [consentWrite(id, "a-first-consent", chance)],
    [consentWrite(id, "a-second-consent", chance)],
    Array.from({ length: 20 }, (_, place) =>
      eventWrite(id, `one-of-a-batch-${place}`, chance),
    ) as unknown as Sending, // twenty
  ]
  for (const sending of sendings) {
    const reply =
      sending[0] === bare
        ? await client.post("/v1/events", bare.body, { "idempotency-key": bare.key, ...context })
        : await send(client, sending)
    note(sending, reply)
  }
  return sendings.flat()
}

// What was fetched --------------------------------------------------------------------------------

/** Answers by path: everything that an auditor would take along. */
type Fetched = ReadonlyMap<string, Reply>

async function fetchAll(
  client: Client,
  { id }: Workspace,
  receipts: readonly MintedReceipt[],
): Promise<Fetched> {
  const fetched = new Map<string, Reply>()
  const recording: Client = {
    ...client,
    async get(path, headers) {
      const reply = await client.get(path, headers)
      fetched.set(path, reply)
      return reply
    },
  }
  await expectChain(recording, id, receipts)
  return fetched
}

/** Verifies it again, away from the service. */
async function expectFetched(
  fetched: Fetched,
  { id }: Workspace,
  receipts: readonly MintedReceipt[],
): Promise<void> {
  const away = (): never => assert.fail("there is no service any more")
  const get: Client["get"] = async (path) =>
    fetched.get(path) ?? assert.fail(`${path} was not fetched`)
  const client: Client = {
    bearer: undefined,
    get,
    ask: away,
    post: away,
    patch: away,
    delete: away,
    write: away,
  }
  const { vkey } = await expectChain(client, id, receipts)
  for (const { receipt } of receipts) {
    const { proof } = (await client.get(`/v1/workspaces/${id}/receipts/${receipt}`)).json<{
      proof: { vkey: string }
    }>()
    assert.equal(proof.vkey, vkey, "a receipt names the key that its log is signed with")
  }
}

/** One answer with one bit changed. */
function flipBit(
  fetched: Fetched,
  chance: Chance,
): { readonly flipped: Fetched; readonly where: string } {
  const [path, reply] = chance.pick([...fetched])
  const bytes = Buffer.from(reply.bytes)
  const place = chance.pick(provingPlaces(path, reply.text, bytes))
  // In a text only the case of a letter would be another, and hex is read in both.
  const isText = !path.includes("/tile/")
  const bit = chance.pick(isText ? [0, 1, 2, 3, 4, 6] : [0, 1, 2, 3, 4, 5, 6, 7])
  bytes[place] = (bytes[place] ?? 0) ^ (1 << bit)
  const text = bytes.toString("utf8")
  const changed: Reply = { ...reply, bytes, text, json: () => JSON.parse(text) }
  return {
    flipped: new Map([...fetched, [path, changed]]),
    where: `bit ${bit} of byte ${place} of ${path}: ${reply.text.slice(place - 20, place + 20)}`,
  }
}

/**
 * Whether a byte proves something: not those of a workspace's settings, of the host of a URL, or of
 * a line end.
 */
function provingPlaces(path: string, text: string, bytes: Buffer): readonly number[] {
  const all = [...bytes.keys()]
  if (path.includes("/tile/")) return all
  const within = (part: RegExp): readonly [number, number] => {
    const found = part.exec(text)
    assert.ok(found !== null)
    const from = Buffer.byteLength(text.slice(0, found.index))
    return [from, from + Buffer.byteLength(found[0])]
  }
  if (path.includes("/receipts/")) {
    const [from, to] = within(/"verificationUrl":"http:\/\/[^/]*/)
    return all.filter((place) => place < from || place >= to)
  }
  if (path.endsWith("/tlog/log.vkey")) return all.slice(0, -1)
  if (path.includes("/tlog/")) return all
  const places = [within(/"ledgerId":"\w+/), within(/"origin":"[^"]+/)]
  return all.filter((place) => places.some(([from, to]) => place >= from && place < to))
}
