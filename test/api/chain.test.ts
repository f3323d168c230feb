import assert from "node:assert/strict"
import { after, test } from "node:test"
import { expectChain, expectTlogProof, readChain } from "../chain.ts"
import { eventFor, makeWorkspace, type Client, type Reply } from "../service.ts"
import { startWatched } from "./watched.ts"
import { flipped } from "../flipped.ts"

// The canary of every test that ends with expectChain: it must detect a service that lies about any
// one thing.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const receipts = await Promise.all(
  Array.from({ length: 300 }, async (_, n) =>
    (
      await acme.writer.write(eventFor(acme.id, { metadata: { n } }), undefined, {
        "x-trace-id": "t",
      })
    ).json(),
  ),
)
const honest = await expectChain(acme.reader, acme.id, receipts)

/** A client that sees some answers of the service changed. */
function lyingClient(
  about: RegExp,
  change: (bytes: Buffer) => Uint8Array | string,
): { client: Client; told: () => number } {
  let told = 0
  const get: Client["get"] = async (path, headers) => {
    const reply = await acme.reader.get(path, headers)
    if (!about.test(path) || reply.status !== 200) return reply
    told += 1
    const bytes = Buffer.from(change(Buffer.from(reply.bytes)))
    const text = bytes.toString()
    return { ...reply, bytes, text, json: () => JSON.parse(text) } satisfies Reply
  }
  return { client: { ...acme.reader, get }, told: () => told }
}

const flip = (at: number) => (bytes: Uint8Array) => flipped(bytes, at)
const swap = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(120, 240), bytes.subarray(0, 120), bytes.subarray(240)])
// oxlint-disable-next-line typescript/no-explicit-any
const within = (change: (answer: any) => void) => (bytes: Buffer) => {
  const answer = JSON.parse(bytes.toString())
  change(answer)
  return JSON.stringify(answer)
}
const receipt = new RegExp(`/receipts/${receipts[7].receipt}$`)

const lies: readonly (readonly [
  about: string,
  path: RegExp,
  change: (bytes: Buffer) => Uint8Array | string,
])[] = [
  ["a byte of a record's kind", /tile\/entries\/000$/, flip(2 + 4)],
  ["a byte of a record's index", /tile\/entries\/000$/, flip(120 * 9 + 2 + 13)],
  ["a byte of a record's time", /tile\/entries\/000$/, flip(120 * 9 + 2 + 21)],
  ["a byte of a record's ledger", /tile\/entries\/000$/, flip(120 * 9 + 2 + 30)],
  ["a byte of a record's predecessor", /tile\/entries\/000$/, flip(120 * 9 + 2 + 60)],
  ["a byte of the last record's content", /tile\/entries\/001\.p/, flip(120 * 40 + 2 + 90)],
  ["the length of a record", /tile\/entries\/000$/, flip(1)],
  ["two records in the other order", /tile\/entries\/000$/, swap],
  ["one record less", /tile\/entries\/001\.p/, (bytes) => bytes.subarray(0, -120)],
  ["a byte of a tile", /tile\/0\/001\.p/, flip(5)],
  ["a byte of a higher tile", /tile\/1\/000/, flip(31)],
  [
    "the size of the checkpoint",
    /checkpoint$/,
    (bytes) => bytes.toString().replace(/\n\d+\n/, (size) => `\n${Number(size) - 1}\n`),
  ],
  [
    "the root of the checkpoint",
    /checkpoint$/,
    (bytes) => bytes.toString().replace(/\n[^\n]{10}(?=[^\n]*=\n)/, `\n${"A".repeat(10)}`),
  ],
  [
    "the origin of the checkpoint",
    /checkpoint$/,
    (bytes) => bytes.toString().replace(/^[^\n]+/, "127.0.0.1/ledgers/another"),
  ],
  [
    "the signature of the checkpoint",
    /checkpoint$/,
    (bytes) =>
      bytes
        .toString()
        .replace(/(.{9})==?\n$/, "AAAAAAAAA=\n")
        .replace(/.\n$/, "=\n"),
  ],
  ["another key", /log\.vkey$/, flip(80)],
  [
    "another ledger",
    new RegExp(`${acme.id}$`),
    within((answer) => (answer.ledgerId = "0".repeat(64))),
  ],
  [
    "a receipt of another entry",
    receipt,
    within((answer) => Object.assign(answer.receipt, { eventHash: receipts[8].eventHash })),
  ],
  ["that it does not verify", receipt, within((answer) => (answer.verified = false))],
  ["who did it", receipt, within((answer) => (answer.receipt.actor.id = "usr_2"))],
  [
    "who did it, in the entry",
    receipt,
    within((answer) => (answer.entry.actor.email = "eve@example.com")),
  ],
  ["what was done", receipt, within((answer) => (answer.entry.action = "billing.invoice.reject"))],
  ["when", receipt, within((answer) => (answer.entry.occurredAt = "2026-01-31T09:30:01Z"))],
  [
    "when it was recorded",
    receipt,
    within((answer) => (answer.receipt.timestamp = "2026-01-31T09:30:01.000Z")),
  ],
  ["what goes with it", receipt, within((answer) => (answer.entry.metadata.n += 1))],
  ["one thing more", receipt, within((answer) => (answer.entry.metadata.more = true))],
  ["one thing less", receipt, within((answer) => delete answer.entry.target.name)],
  ["its provenance", receipt, within((answer) => (answer.receipt.provenance.traceId = "u"))],
  ["its place", receipt, within((answer) => (answer.entry.sequence += 1))],
  ["its kind", receipt, within((answer) => (answer.entry.kind = "consent"))],
  ["its salt", receipt, within((answer) => (answer.proof.bodySalt = "0".repeat(32)))],
  [
    "its body",
    receipt,
    within((answer) => (answer.proof.body = answer.proof.body.replace("approve", "reject"))),
  ],
  [
    "its record",
    receipt,
    within((answer) => (answer.proof.record = honest.records[1]?.toString("base64"))),
  ],
  ["a disclosure less", receipt, within((answer) => answer.disclosures.pop())],
  [
    "a disclosure more",
    receipt,
    within((answer) =>
      answer.disclosures.push("WyJBQUVDQXdRRkJnY0lDUW9MREEwT0R3IiwiZW1haWwiLCJhQGIiXQ"),
    ),
  ],
  [
    "the path of its proof",
    receipt,
    within(
      (answer) =>
        (answer.proof.tlogProof = answer.proof.tlogProof.replace(/\n[^\n]{10}/g, (line: string) =>
          line.includes(" ") ? line : `\nAAAAAAAAAA`,
        )),
    ),
  ],
  [
    "the index of its proof",
    receipt,
    within(
      (answer) =>
        (answer.proof.tlogProof = answer.proof.tlogProof.replace(
          /index (\d+)/,
          (_: string, at: string) => `index ${Number(at) + 1}`,
        )),
    ),
  ],
  [
    "that there is no proof yet, of what is called verified",
    receipt,
    within((answer) => (answer.proof.tlogProof = null)),
  ],
]

for (const [about, path, change] of lies) {
  test(`a lie is detected: ${about}`, async () => {
    const { client, told } = lyingClient(path, change)
    await assert.rejects(expectChain(client, acme.id, [receipts[7], receipts[250]]))
    assert.ok(told() > 0, "the lie was told")
  })
}

test("honest answers pass", async () => {
  const { client, told } = lyingClient(/./, (bytes) => bytes)
  await expectChain(client, acme.id, [receipts[7], receipts[250]])
  assert.ok(told() > 5)
})

test("a receipt without an entry in the chain is reported", async () => {
  const invented = { ...receipts[7], eventHash: "0".repeat(64) }
  await assert.rejects(
    expectChain(acme.reader, acme.id, [{ ...receipts[7], previousHash: "0".repeat(64) }]),
  )
  await assert.rejects(
    readChain(acme.reader, acme.id, [{ ...invented, receipt: `rcp_${"0".repeat(36)}` }]),
  )
})

test("a proof of another record is refused", async () => {
  const { text } = await acme.reader.get(`${acme.path}/receipts/${receipts[7].receipt}/proof`)
  const other = await acme.reader.get(`${acme.path}/receipts/${receipts[8].receipt}/proof`)
  assert.ok(expectTlogProof(honest, text) !== expectTlogProof(honest, other.text))
  const extra = /extra \S+/
  assert.throws(() =>
    expectTlogProof(honest, text.replace(extra, extra.exec(other.text)?.[0] ?? "")),
  )
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
