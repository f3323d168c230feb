import assert from "node:assert/strict"
import { after, test } from "node:test"
import { makeKey, makeWorkspace, writeEvent, type Client } from "../service.ts"
import { startWatched } from "./watched.ts"

// The time of a refusal must not reveal whether a resource exists. Both kinds are requested in
// turns and their times sorted together: if they are alike, each kind comes first equally often.

const service = await startWatched({
  environment: {
    TALLYSTICK_LIMIT_ANONYMOUS_READS_PER_MINUTE: "100000",
    TALLYSTICK_LIMIT_REFUSAL_MS: undefined,
  },
})
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const strange = await makeWorkspace(service)
await service.root.post(`${acme.path}/published-policy`, {
  sections: [{ id: "a", title: "A", body: "text ".repeat(2000) }],
})
const metadata = { text: "word ".repeat(8000) }
const { receipt } = await writeEvent(acme, { metadata })
const inMine = (await writeEvent(acme, { projectId: "mine" })).receipt
await service.root.get(`${acme.path}/receipts/${receipt}/proof`)
const pack = (
  await service.root.post(`${acme.path}/evidence-packs`, { title: "T", receiptIds: [receipt] })
).json().packId
const ofMine = await makeKey(service, acme.id, { scopes: ["read"], projectIds: ["mine"] })
assert.equal((await ofMine.get(`${acme.path}/receipts/${inMine}`)).status, 200)

const nobody = service.client()
const none = `rcp_${"0".repeat(36)}`
const ofNobody = (at: number): string => `/v1/workspaces/ws-${at.toString(16).padStart(12, "0")}`

/** The client, an existing resource, and missing ones, a different one each time. */
const cases: Readonly<Record<string, readonly [Client, string, (at: number) => string]>> = {
  "a workspace, by a receipt": [
    nobody,
    `${acme.path}/receipts/${none}`,
    (at) => `${ofNobody(at)}/receipts/${none}`,
  ],
  "a workspace, by its policy": [
    nobody,
    `${acme.path}/published-policy/latest`,
    (at) => `${ofNobody(at)}/published-policy/latest`,
  ],
  "a workspace, by its log": [
    nobody,
    `${acme.path}/tlog/checkpoint`,
    (at) => `${ofNobody(at)}/tlog/checkpoint`,
  ],
  "a workspace, with a key of another": [
    strange.reader,
    `${acme.path}/receipts/${none}`,
    (at) => `${ofNobody(at)}/receipts/${none}`,
  ],
  "a private receipt": [
    nobody,
    `${acme.path}/receipts/${receipt}`,
    (at) => `${acme.path}/receipts/rcp_${String(at).padStart(36, "0")}`,
  ],
  "a receipt of another project": [
    ofMine,
    `${acme.path}/receipts/${receipt}`,
    () => `${acme.path}/receipts/${none}`,
  ],
  "a project out of reach": [
    ofMine,
    `${acme.path}/projects/core`,
    (at) => `${acme.path}/projects/p${at}`,
  ],
  "a pack out of reach": [
    ofMine,
    `${acme.path}/evidence-packs/${pack}`,
    () => `${acme.path}/evidence-packs/pack_${"0".repeat(36)}`,
  ],
}

const turns = 40

for (const [name, [client, known, unknown]] of Object.entries(cases)) {
  test(`the time of a refusal does not tell ${name}`, async (context) => {
    const times = { known: [] as number[], unknown: [] as number[] }
    for (let turn = -3; turn < turns; turn++) {
      const asks = [["known", known] as const, ["unknown", unknown(turn + 3)] as const]
      for (const [which, path] of turn % 2 === 0 ? asks : asks.toReversed()) {
        const started = performance.now()
        const { status } = await client.get(path)
        const took = performance.now() - started
        assert.ok(status >= 401 && status <= 404, `${path}: ${status}`)
        assert.ok(took >= 18, `${path} was refused after ${took} ms`)
        // The first ones open the connection and compile.
        if (turn >= 0) times[which].push(took)
      }
    }
    const before =
      times.known.reduce(
        (sum, one) => sum + times.unknown.filter((other) => one < other).length,
        0,
      ) /
      turns ** 2
    context.diagnostic(
      `of what there is, ${(before * 100).toFixed(0)} % are before what there is not`,
    )
    // Of forty each that are alike, five deviations are a third.
    assert.ok(
      before > 0.17 && before < 0.83,
      `${before} of those that are there are answered before those that are not`,
    )
  })
}

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
