import assert from "node:assert/strict"
import { once } from "node:events"
import { get } from "node:http"
import { connect } from "node:net"
import { after, test } from "node:test"
import {
  eventually,
  make,
  makeWorkspace,
  writeEvent,
  writeMany,
  type Client,
  type Reply,
  type Workspace,
} from "../service.ts"
import { startWatched } from "./watched.ts"

// Requests of one workspace must not delay another.

const service = await startWatched({
  environment: {
    TALLYSTICK_LIMIT_PACKS_AT_ONCE_MAX: "2",
    TALLYSTICK_LIMIT_PACKS_OF_WORKSPACE_MAX: "1",
    TALLYSTICK_LIMIT_PACKS_SENT_AT_ONCE_MAX: "3",
    TALLYSTICK_LIMIT_PACKS_SENT_OF_WORKSPACE_MAX: "2",
    TALLYSTICK_LIMIT_PACK_WAIT_MS: "60000",
    TALLYSTICK_LIMIT_PACK_DOWNLOADS_PER_MINUTE: "40",
  },
})
after(() => service[Symbol.asyncDispose]())

async function packOf(
  { id, path, writer, reader }: Workspace,
  entries: number,
  metadata = {},
): Promise<string> {
  await writeMany({ id, writer }, entries, { changes: () => ({ metadata }) })
  const asked = { title: "For the auditor", filter: { projectId: "core" } }
  const { packId } = await make(reader, `${path}/evidence-packs`, asked)
  return `${path}/evidence-packs/${packId}`
}

async function holderOf({ reader }: Workspace, pack: string): Promise<Client> {
  return service.client((await make(reader, `${pack}/token`, {})).token)
}

test("packs are made in turns between workspaces, so one with many requests refuses no other", async () => {
  const [greedy, other] = [await makeWorkspace(service), await makeWorkspace(service)]
  const large = await packOf(greedy, 400)
  const small = await packOf(other, 1)
  const holder = await holderOf(greedy, large)
  const ended: string[] = []
  const asked = Array.from({ length: 12 }, () =>
    holder.get(`${large}/download`).finally(() => ended.push("greedy")),
  )
  const answers: Reply[] = []
  for (let at = 0; at < 6; at++)
    answers.push(await other.reader.get(`${small}/download`).finally(() => ended.push("other")))
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array.from(answers, () => 200),
  )
  assert.ok(
    ended.lastIndexOf("other") < 11,
    `the other workspace was answered between the first one's packs: ${ended.join(" ")}`,
  )
  for (const reply of await Promise.all(asked)) assert.equal(reply.status, 200, reply.text)
})

test("clients that read nothing of their packs delay only their own workspace, until they leave", async () => {
  const [greedy, other] = [await makeWorkspace(service), await makeWorkspace(service)]
  const small = await packOf(other, 1)
  // More than the buffers hold between a service and a client that does not read.
  const metadata = Object.fromEntries(["a", "b", "c"].map((name) => [name, "x".repeat(60_000)]))
  const large = await packOf(greedy, 24, metadata)
  const answered: string[] = []
  const open = (name: string) => {
    const asked = get(new URL(`${large}/download`, service.url), {
      agent: false,
      headers: { authorization: `Bearer ${greedy.reader.bearer}` },
    })
    asked.on("error", () => {})
    asked.on("response", ({ statusCode }) => answered.push(`${name} ${statusCode}`))
    return asked
  }
  const slow = [open("slow"), open("slow")]
  await eventually("two are being sent", async () => answered.length === 2)
  const third = open("third")
  for (let at = 0; at < 6; at++)
    assert.equal((await other.reader.get(`${small}/download`)).status, 200)
  // A workspace's packs are made one after another, so every pack before this one has been made.
  await packOf(greedy, 1)
  assert.deepEqual(answered, ["slow 200", "slow 200"])
  slow[0]?.destroy()
  await eventually("the third has its turn", async () => answered.length === 3)
  assert.equal(answered[2], "third 200")
  for (const one of [slow[1], third]) one?.destroy()
  assert.equal(
    (await greedy.reader.get(`${large}/download`)).status,
    200,
    "every place was given back",
  )
})

test("HEAD of a download makes and records nothing; downloads with one token have a rate", async () => {
  const acme = await makeWorkspace(service)
  const pack = await packOf(acme, 1)
  const holder = await holderOf(acme, pack)
  const recorded = async (): Promise<number> =>
    (
      await acme.reader.get(
        `${acme.path}/events?projectId=all&storage=all&includeSystem=true&limit=1`,
      )
    ).json().total
  const before = await recorded()
  const heads: Reply[] = []
  for (const query of ["", "?format=json"])
    heads.push(await holder.ask("HEAD", `${pack}/download${query}`))
  assert.deepEqual(
    heads.map(({ status, headers }) => [
      status,
      headers.get("content-type"),
      headers.get("content-length"),
    ]),
    [
      [200, "application/zip", null],
      [200, "application/json; charset=utf-8", null],
    ],
  )
  assert.equal(await recorded(), before)
  const statuses: number[] = []
  for (let at = 0; at < 45; at++) statuses.push((await holder.get(`${pack}/download`)).status)
  assert.ok(
    statuses.slice(0, 40).every((status) => status === 200) && statuses.includes(429),
    statuses.join(" "),
  )
  assert.equal(
    (await acme.reader.get(`${pack}/download`)).status,
    200,
    "the rate is the token's alone",
  )
  assert.equal((await (await holderOf(acme, pack)).get(`${pack}/download`)).status, 200)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("strangers who ask for receipts and tiles of a workspace do not take its turns to read", async () => {
  await using crowded = await startWatched({
    environment: {
      TALLYSTICK_LIMIT_READS_AT_ONCE_MAX: "1",
      TALLYSTICK_LIMIT_READS_WAITING_MAX: "2",
      TALLYSTICK_LIMIT_ANONYMOUS_READS_PER_MINUTE: "1000000",
    },
  })
  const { root } = crowded
  const [acme, other] = [
    await makeWorkspace(crowded, { transparency: "public" }),
    await makeWorkspace(crowded),
  ]
  await make(root, `${acme.path}/projects`, { id: "open", receipts: "public" })
  const { receipt } = await writeEvent(acme, { projectId: "open" })
  const tile = `${acme.path}/tlog/tile/0/000`
  await eventually("it is signed", async () => {
    const { status } = await acme.reader.get(`${tile}.p/2`)
    return status === 200
  })
  const { hostname, port } = new URL(crowded.url)
  const sockets = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const socket = connect({ host: hostname, port: Number(port) })
      await once(socket, "connect")
      return socket.setEncoding("latin1")
    }),
  )
  /** Asks on all connections at once, and gives the statuses. */
  const askAll = (path: string, bearer: string | undefined): Promise<readonly string[]> => {
    const credential = bearer === undefined ? "" : `Authorization: Bearer ${bearer}\r\n`
    for (const socket of sockets)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${credential}\r\n`)
    return Promise.all(
      sockets.map(async (socket) => String((await once(socket, "data"))[0]).slice(9, 12)),
    )
  }
  for (const [bearer, asked] of [
    [undefined, `${acme.path}/receipts/${receipt}`],
    [other.reader.bearer, `${acme.path}/receipts/${receipt}`],
    [undefined, `${tile}.p/2`],
    [undefined, `${acme.path}/tlog/epochs/1/records`],
    [undefined, `${acme.path}/tlog/keys`],
  ] as const) {
    let isOver = false
    const crowd = (async () => {
      const statuses: string[] = []
      for (let round = 0; round < 10; round++) statuses.push(...(await askAll(asked, bearer)))
      return statuses.filter((status) => status === "503").length
    })().finally(() => (isOver = true))
    const own: number[] = []
    while (!isOver) own.push((await acme.reader.get(`${acme.path}/receipts/${receipt}`)).status)
    const refused = await crowd
    assert.ok(
      refused > 0 && own.length > 0,
      `${asked}: ${refused} of the crowd were refused, and ${own.length} were asked`,
    )
    assert.deepEqual(
      own.filter((status) => status !== 200),
      [],
      asked,
    )
  }
  for (const socket of sockets) socket.destroy()
})
