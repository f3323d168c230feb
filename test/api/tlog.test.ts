import assert from "node:assert/strict"
import { after, test } from "node:test"
import { openCheckpoint, readChain, tileName } from "../chain.ts"
import { eventFor, eventually, logKeyOf, makeKey, makeWorkspace, writeMany } from "../service.ts"
import { expectRows } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"
import { untilSigned } from "../until.ts"

// …/tlog/*: the log as C2SP tlog-tiles, for verifiers that are not ours.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const anonymous = service.client()

test("a log grows with each write, and earlier checkpoints stay true", async () => {
  const log = await makeWorkspace(service)
  const { origin, ledgerId } = (await log.reader.get(log.path)).json()
  const vkey = await logKeyOf(log.reader, log.path)
  const signed: { size: number; root: Buffer }[] = []
  for (const count of [1, 2, 60, 200, 1, 45]) {
    const receipts = await writeMany(log, count)
    await readChain(log.reader, log.id, receipts)
    signed.push(
      openCheckpoint((await log.reader.get(`${log.path}/tlog/checkpoint`)).text, origin, vkey),
    )
  }
  const chain = await readChain(log.reader, log.id)
  assert.equal(chain.size, 4 + 309, "four acts, and what was written")
  assert.equal(chain.ledgerId, ledgerId)
  for (const { size, root } of signed)
    assert.deepEqual(
      root,
      chain.rootAt(size),
      `what was signed at ${size} is no beginning of the log`,
    )
})

test("partial tiles of every width are the beginnings of the full one", async () => {
  const log = await makeWorkspace(service)
  const receipts = await writeMany(log, 520)
  const { size } = await readChain(log.reader, log.id, receipts)
  const read = async (name: string): Promise<Buffer> => {
    const reply = await log.reader.get(`${log.path}/tlog/tile/${name}`)
    assert.equal(reply.status, 200, name)
    assert.equal(reply.headers.get("content-type"), "application/octet-stream")
    return reply.bytes
  }
  for (const [kind, stride, full] of [
    ["0", 32, 256],
    ["entries", 120, 256],
  ] as const) {
    const whole = await read(`${kind}/${tileName(0, 256)}`)
    assert.equal(whole.length, full * stride)
    for (const width of [1, 2, 3, 127, 128, 255]) {
      assert.deepEqual(
        await read(`${kind}/${tileName(0, width)}`),
        whole.subarray(0, width * stride),
      )
    }
    assert.equal((await read(`${kind}/${tileName(2, size - 512)}`)).length, (size - 512) * stride)
  }
  assert.equal((await read(`1/${tileName(0, 2)}`)).length, 64)
})

test("records equal those of the bundles, in every range of what is signed", async () => {
  const log = await makeWorkspace(service)
  const receipts = await writeMany(log, 300)
  const { size } = await readChain(log.reader, log.id, receipts)
  const bundles = await Promise.all(
    [tileName(0, 256), tileName(1, size - 256)].map(
      async (name) => (await log.reader.get(`${log.path}/tlog/tile/entries/${name}`)).bytes,
    ),
  )
  const framed = Buffer.concat(bundles)
  const records = Buffer.concat(
    Array.from({ length: size }, (_, at) => framed.subarray(at * 120 + 2, (at + 1) * 120)),
  )
  const read = async (query: string) => {
    const reply = await log.reader.get(`${log.path}/tlog/epochs/1/records${query}`)
    assert.equal(reply.status, 200, query)
    assert.equal(reply.headers.get("content-type"), "application/octet-stream")
    return reply.bytes
  }
  for (const [query, from, to] of [
    ["", 0, size],
    ["?limit=1", 0, 1],
    ["?after=255&limit=2", 255, 257],
    [`?after=${size - 1}`, size - 1, size],
    [`?after=${size}`, size, size],
    ["?after=999999999", size, size],
  ] as const)
    assert.deepEqual(await read(query), records.subarray(from * 118, to * 118), query)
  await expectRows(
    ["after=-1", "after=1.5", "limit=0", "limit=4097", "limit=x"].map((query) => ({
      as: log.reader,
      ask: `GET ${log.path}/tlog/epochs/1/records?${query}`,
      gets: "400 invalid_field",
    })),
  )
})

test("only resources that the log lacks are 404", async () => {
  const receipts = await writeMany(acme, 20)
  const { size } = await readChain(acme.reader, acme.id, receipts)
  const resources = [
    "",
    "x",
    "checkpoint/",
    "checkpoint.txt",
    "Checkpoint",
    "log.vkey/x",
    "keys/1",
    "epochs/",
    "epochs/1",
    "epochs/0/checkpoint",
    "epochs/01/checkpoint",
    "epochs/2/checkpoint",
    "epochs/1/tile/0/000",
    "epochs/2/records",
    "records",
    "..",
    "tile",
    "tile/",
    "tile/0",
    "tile/0/",
    "tile/entries",
    "tile/0/000",
    "tile/1/000",
    "tile/1/000.p/1",
    "tile/0/001.p/1",
    "tile/entries/000",
    "tile/entries/001.p/1",
    "tile/63/000",
    "tile/64/000",
    "tile/0/0.p/1",
    "tile/0/00.p/1",
    "tile/0/0000.p/1",
    "tile/0/1.p/1",
    "tile/0/x000/000.p/1",
    "tile/0/000.p/0",
    "tile/0/000.p/01",
    "tile/0/000.p/256",
    "tile/0/000.p/-1",
    "tile/0/000.p/1.0",
    "tile/0/000.p/1e1",
    "tile/0/000.p",
    "tile/0/000.p/",
    "tile/0/000/p/1",
    "tile/0/000.P/1",
    "tile/0/000.p/1/",
    "tile/00/000.p/1",
    "tile/-1/000.p/1",
    "tile/0x0/000.p/1",
    "tile/ENTRIES/000.p/1",
    "tile/data/000.p/1",
    "tile/0/abc.p/1",
    "tile/0/%30%30%30.p/999",
    `tile/0/000.p/${size + 1}`,
    `tile/entries/000.p/${size + 1}`,
    "tile/0/x999/x999/x999/x999/x999/999",
    "tile/0/x001/000",
    `tile/0/${"x999/".repeat(400)}999`,
  ]
  await expectRows([
    ...resources.map((name) => ({
      as: acme.reader,
      ask: `GET ${acme.path}/tlog/${name}`,
      gets: "404 not_found",
    })),
    { as: service.root, ask: "GET /v1/workspaces/nowhere/tlog/checkpoint", gets: "404 not_found" },
    { as: anonymous, ask: "GET /v1/workspaces/nowhere/tlog/checkpoint", gets: "401 unauthorized" },
  ])
})

test("the log is for readers; if the workspace says so, it is for everybody", async () => {
  const log = await makeWorkspace(service)
  const other = await makeWorkspace(service)
  const receipts = await writeMany(log, 3)
  const { size } = await readChain(log.reader, log.id, receipts)
  const bound = await makeKey(service, log.id, { scopes: ["read"], projectIds: ["nothing-of-it"] })
  const ofLog = [
    "checkpoint",
    "log.vkey",
    "keys",
    `tile/0/${tileName(0, size)}`,
    `tile/entries/${tileName(0, size)}`,
  ]
  const ofEpoch = [...ofLog, "records"].map((name) => `epochs/1/${name}`)
  const resources = [...ofLog, "epochs", ...ofEpoch]
  const rows = (anonymously: number | string, strangely: number | string) =>
    resources.flatMap((name) => {
      const ask = `GET ${log.path}/tlog/${name}`
      return [
        { about: "nobody", as: anonymous, ask, gets: anonymously },
        {
          about: "a reader",
          as: log.reader,
          ask,
          gets: 200,
          answerHeaders: { "cache-control": "no-store" },
        },
        {
          about: "a writer",
          as: log.writer,
          ask,
          gets: anonymously === 200 ? 200 : "403 insufficient_scope",
        },
        { about: "a reader of some projects", as: bound, ask, gets: 200 },
        { about: "a stranger", as: other.reader, ask, gets: strangely },
        { about: "a wrong key", as: service.client("nonsense"), ask, gets: "401 unauthorized" },
        { about: "the instance", as: service.root, ask, gets: 200 },
      ]
    })
  await expectRows(rows("401 unauthorized", "403 workspace_forbidden"))
  await service.root.patch(log.path, { transparency: "public" })
  await expectRows(rows(200, "403 workspace_forbidden"))
  const kept = (value: string) => ({
    gets: 200,
    answerHeaders: { "cache-control": value, "access-control-allow-origin": "*" },
  })
  await expectRows([
    { as: anonymous, ask: `GET ${log.path}/tlog/checkpoint`, ...kept("no-cache") },
    {
      as: anonymous,
      ask: `GET ${log.path}/tlog/tile/0/000.p/1`,
      ...kept("public, max-age=31536000, immutable"),
    },
    {
      as: anonymous,
      ask: `GET ${log.path}/tlog/tile/entries/000.p/1`,
      ...kept("public, max-age=31536000, immutable"),
    },
    {
      as: anonymous,
      ask: `GET ${log.path}/tlog/epochs/1/records?limit=${size}`,
      ...kept("public, max-age=31536000, immutable"),
    },
    {
      about: "what may become more",
      as: anonymous,
      ask: `GET ${log.path}/tlog/epochs/1/records`,
      ...kept("no-cache"),
    },
    {
      as: anonymous,
      ask: `GET ${log.path}/tlog/tile/0/000.p/99`,
      gets: "404 not_found",
      answerHeaders: { "cache-control": "no-store" },
    },
  ])
  await service.root.patch(log.path, { transparency: "private" })
  await expectRows(rows("401 unauthorized", "403 workspace_forbidden"))
})

test("a log that continues no other has one epoch", async () => {
  const receipts = await writeMany(acme, 3)
  const { size, ledgerId, origin } = await readChain(acme.reader, acme.id, receipts)
  const { epochs } = (await acme.reader.get(`${acme.path}/tlog/epochs`)).json()
  const [{ genesis, ...only }, ...others] = epochs
  assert.deepEqual(
    [only, others],
    [{ epoch: 1, origin, ledgerId, earlierEntries: 0, size: null }, []],
  )
  assert.equal(JSON.parse(genesis).origin, origin)
  for (const name of [
    "log.vkey",
    "keys",
    `tile/0/${tileName(0, size)}`,
    `tile/entries/${tileName(0, size)}`,
  ]) {
    const [current, byNumber] = await Promise.all(
      ["", "epochs/1/"].map((at) => acme.reader.get(`${acme.path}/tlog/${at}${name}`)),
    )
    assert.deepEqual(byNumber?.bytes, current?.bytes, name)
  }
})

test("the records of a public log show no content", async () => {
  const log = await makeWorkspace(service, { transparency: "public" })
  const { receipt, eventId, eventHash, previousHash } = (
    await log.writer.write(eventFor(log.id))
  ).json()
  const chain = await readChain(log.reader, log.id, [{ receipt, eventHash, previousHash }])
  const { bytes } = await anonymous.get(`${log.path}/tlog/tile/entries/${tileName(0, chain.size)}`)
  for (const value of [receipt, eventId, log.id, "usr_1", "ada@example.com", "billing", "core"])
    assert.ok(!bytes.includes(value), value)
})

test("the keys of a log are listed, each with the sizes that it signs", async () => {
  const { keys } = (await acme.reader.get(`${acme.path}/tlog/keys`)).json()
  const vkey = await acme.reader.get(`${acme.path}/tlog/log.vkey`)
  assert.equal(vkey.headers.get("content-type"), "text/plain; charset=utf-8")
  assert.deepEqual(keys, [{ vkey: vkey.text.trimEnd(), fromSize: 0, toSize: null }])
  assert.ok(vkey.text.endsWith("\n"))
})

test("every workspace has its own log, origin and key, and the origin reveals nothing of it", async () => {
  const [one, two] = [await makeWorkspace(service), await makeWorkspace(service)]
  const looks = await Promise.all(
    [one, two].map(async ({ reader, path, id }) => {
      const { origin, ledgerId } = (await reader.get(path)).json()
      assert.match(origin, /^127\.0\.0\.1\/ledgers\/[0-9a-z]{22,}$/)
      assert.ok(!origin.includes(id))
      return { origin, ledgerId, vkey: (await reader.get(`${path}/tlog/log.vkey`)).text }
    }),
  )
  for (const name of ["origin", "ledgerId", "vkey"] as const)
    assert.notEqual(looks[0]?.[name], looks[1]?.[name])
})

test("a checkpoint is signed within about a second without anybody asking", async () => {
  const log = await makeWorkspace(service)
  const { origin } = (await log.reader.get(log.path)).json()
  const vkey = await logKeyOf(log.reader, log.path)
  await untilSigned(log.reader, log.path)
  const tookMs: number[] = []
  for (let size = 14; size <= 34; size += 10) {
    await writeMany(log, 10)
    const written = performance.now()
    await eventually("a checkpoint of all that was written", async () => {
      const { text } = await log.reader.get(`${log.path}/tlog/checkpoint`)
      return openCheckpoint(text, origin, vkey).size === size
    })
    tookMs.push(performance.now() - written)
  }
  // The test machine may be slow once; the service must not be slow each time.
  assert.ok(Math.min(...tookMs) < 1500, `${tookMs.join(", ")} ms`)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 800, refused: 50 }))
