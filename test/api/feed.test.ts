import assert from "node:assert/strict"
import { after, test } from "node:test"
import { createClient, TallystickError, type ListedEntry } from "@tallystick/client"
import { readChain } from "../chain.ts"
import { createChance, seedOf, type Chance } from "../chance.ts"
import {
  eventFor,
  eventually,
  makeKey,
  makeWorkspace,
  startService,
  type Client,
  writeMany,
} from "../service.ts"
import {
  filters,
  find,
  listed,
  randomEvent,
  writeAll,
  type Page,
  type Parameters,
} from "./pages.ts"
import { startWatched } from "./watched.ts"

// GET …/events/feed: what a list of the same filters has, oldest first, and as it is recorded.

const followersMax = 200
const environment = {
  TALLYSTICK_LIMIT_FOLLOWERS_OF_WORKSPACE_MAX: String(followersMax),
  TALLYSTICK_LIMIT_FEED_COMMENT_MS: "300",
}
const service = await startWatched({ environment })
after(() => service[Symbol.asyncDispose]())

interface Feed {
  readonly events: Page["events"]
  readonly nextAfter: number
  readonly hasMore: boolean
}

async function feed(client: Client, path: string, parameters: Parameters = {}): Promise<Feed> {
  const query = new URLSearchParams(
    Object.entries(parameters).map(([name, value]) => [name, String(value)]),
  )
  const reply = await client.get(`${path}/events/feed?${query.toString()}`)
  assert.equal(reply.status, 200, reply.text)
  return reply.json<Feed>()
}

const sequences = (events: readonly { readonly sequence: number }[]): readonly number[] =>
  events.map(({ sequence }) => sequence)

test("pages of a feed have the entries of a list, oldest first", async (t) => {
  const chance = createChance(seedOf(t))
  const acme = await makeWorkspace(service)
  await writeMany(acme, 700, { changes: (place) => randomEvent(chance, place) })
  const newest = (await find(acme.reader, acme.path, { includeSystem: true })).nextCursor
  assert.ok(newest > 600)
  for (const filter of filters) {
    const expected = sequences(await listed(acme.reader, acme.path, filter))
    const from = chance.below(300)
    const found: number[] = []
    for (let at = from; ;) {
      const limit = 1 + chance.below(100)
      const page = await feed(acme.reader, acme.path, { ...filter, after: at, limit })
      assert.ok(page.events.length <= limit)
      assert.ok(page.nextAfter >= (page.events.at(-1)?.sequence ?? at))
      found.push(...sequences(page.events))
      at = page.nextAfter
      if (!page.hasMore) break
      assert.equal(page.nextAfter, page.events.at(-1)?.sequence)
    }
    assert.deepEqual(
      found,
      expected.filter((sequence) => sequence > from),
      JSON.stringify(filter),
    )
  }
  await readChain(acme.reader, acme.id)
})

test("an invalid question is refused with a sentence", async () => {
  const acme = await makeWorkspace(service)
  for (const [query, detail] of [
    ["after=-1", /after/],
    ["wait=31", /wait/],
    ["limit=101", /limit/],
    ["query=" + "a".repeat(513), /query/],
    ["cursor=1", /cursor/],
  ] as const) {
    const reply = await acme.reader.get(`${acme.path}/events/feed?${query}`)
    assert.equal(reply.status, 400, query)
    assert.match(reply.json<{ detail: string }>().detail, detail)
  }
  const bad = { "last-event-id": "4a", accept: "text/event-stream" }
  const refused = await acme.reader.get(`${acme.path}/events/feed`, bad)
  assert.equal(refused.status, 400)
  assert.match(refused.json<{ detail: string }>().detail, /^Last-Event-ID must be the last id/)
})

test("a question waits for a match, and for nothing else", async () => {
  const acme = await makeWorkspace(service)
  await writeAll(acme, { n1: {} })
  const { nextAfter } = await feed(acme.reader, acme.path)
  const empty = await feed(acme.reader, acme.path, { after: nextAfter })
  assert.deepEqual(empty, { events: [], nextAfter, hasMore: false })
  let isAnswered = false
  const asked = feed(acme.reader, acme.path, { after: nextAfter, wait: 30, projectId: "desk" })
  void asked.finally(() => (isAnswered = true))
  await writeAll(acme, { n2: {} })
  assert.equal(isAnswered, false)
  await writeAll(acme, { n3: { projectId: "desk" } })
  const page = await asked
  assert.deepEqual(
    page.events.map(({ metadata }) => metadata["label"]),
    ["n3"],
  )
  // It also ends without a match, and says how far it looked.
  await writeAll(acme, { n4: {} })
  const other = await feed(acme.reader, acme.path, {
    after: page.nextAfter,
    wait: 1,
    projectId: "desk",
  })
  assert.deepEqual([other.events, other.hasMore], [[], false])
  assert.ok(other.nextAfter > page.nextAfter)
  await readChain(acme.reader, acme.id)
})

/** A fetch whose answers are cut at random, as by a proxy that restarts. */
function cutting(chance: Chance, counted: { cuts: number }): typeof fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    let left = 1 + chance.below(60_000)
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        controller.enqueue(bytes.subarray(0, left))
        left -= bytes.length
        if (left > 0) return
        counted.cuts += 1
        controller.error(new Error("cut"))
      },
    })
    return new Response(response.body?.pipeThrough(cut), response)
  }
}

test("streams that are cut miss nothing and show nothing twice, while others write", async (t) => {
  const chance = createChance(seedOf(t))
  const acme = await makeWorkspace(service)
  const desk = await makeKey(service, acme.id, { scopes: ["read"], projectIds: ["desk"] })
  const counted = { cuts: 0 }
  const end = new AbortController()
  const followers = [...filters, ...filters].map((filter, place) => {
    const isLimited = place % 4 === 0 && Object.keys(filter).every((name) => name === "query")
    const { bearer = "" } = isLimited ? desk : acme.reader
    const client = createClient({
      baseUrl: service.url,
      key: bearer,
      fetch: cutting(chance, counted),
      waitMs: 1,
      random: () => 0.01,
    })
    const seen: ListedEntry[] = []
    const run = async (): Promise<void> => {
      const options = { signal: end.signal }
      for await (const entry of client.events.follow(acme.id, filter, options)) seen.push(entry)
    }
    return {
      filter,
      reader: isLimited ? desk : acme.reader,
      seen,
      ended: run().catch((error: unknown) => error),
    }
  })
  const write = async (): Promise<void> => {
    for (let round = 0; round < 30; round++) {
      if (chance.percent(50))
        await writeMany(acme, 20, { changes: (place) => randomEvent(chance, place) })
      else await acme.writer.write(eventFor(acme.id, randomEvent(chance, round)))
    }
  }
  await Promise.all([write(), write(), write()])
  for (const { filter, reader, seen } of followers) {
    const expected = sequences(await listed(reader, acme.path, filter))
    await eventually(`all of ${JSON.stringify(filter)}`, async () => seen.length >= expected.length)
    assert.deepEqual(sequences(seen), expected, JSON.stringify(filter))
  }
  end.abort()
  for (const { ended } of followers) {
    const error: unknown = await ended
    assert.ok(error instanceof TallystickError && error.code === "aborted", String(error))
  }
  assert.ok(counted.cuts > 10, `${counted.cuts} cuts only`)
  await readChain(acme.reader, acme.id)
})

/** A stream as it is on the wire, until it ends. */
async function openStream(
  path: string,
  bearer: string | undefined,
  { url = service.url, lastEventId }: { url?: string; lastEventId?: string } = {},
) {
  const response = await fetch(`${url}${path}/events/feed`, {
    headers: {
      accept: "text/event-stream",
      authorization: `Bearer ${bearer}`,
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    },
  })
  const said = { text: "" }
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const bytes of response.body ?? []) said.text += decoder.decode(bytes)
  }
  return { response, said, ended: response.ok ? read() : Promise.resolve() }
}

test("a stream has ids, events, data and heartbeats, and ends when its key is revoked", async () => {
  const acme = await makeWorkspace(service)
  const key = await makeKey(service, acme.id, { scopes: ["read"] })
  const { nextAfter } = await feed(acme.reader, acme.path)
  const { response, said, ended } = await openStream(acme.path, key.bearer, {
    lastEventId: String(nextAfter),
  })
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/)
  await eventually("two comments", async () => said.text.split(": ").length > 2)
  await writeAll(acme, { n1: {} })
  const line = await eventually(
    "an entry",
    async () => /event: entry\ndata: (.*)\n/.exec(said.text)?.[1],
  )
  const entry: { sequence: number; metadata: object } = JSON.parse(line)
  assert.deepEqual(entry.metadata, { label: "n1" })
  assert.ok(said.text.includes(`\nid: ${entry.sequence}\nevent: entry\n`))
  const client = createClient({ baseUrl: service.url, key: key.bearer ?? "", waitMs: 1 })
  const following = client.events.follow(acme.id, { after: nextAfter })
  assert.equal((await following.next()).value?.sequence, entry.sequence)
  const waiting = key.get(`${acme.path}/events/feed?after=${entry.sequence + 100}&wait=30`)
  await service.root.delete(`${acme.path}/api-keys/${key.bearer?.split("_")[1]}`)
  await ended
  await assert.rejects(following.next(), { code: "token_revoked" })
  assert.equal((await waiting).status, 401)
  assert.equal((await openStream(acme.path, key.bearer)).response.status, 401)
  await readChain(acme.reader, acme.id)
})

test("as many clients as the limit allows follow one workspace, and each sees every entry", async () => {
  const acme = await makeWorkspace(service)
  const key = acme.reader.bearer ?? ""
  const end = new AbortController()
  const seen = Array.from({ length: followersMax }, (): number[] => [])
  const ended = seen.map(async (found) => {
    const client = createClient({ baseUrl: service.url, key })
    const options = { signal: end.signal }
    for await (const { sequence } of client.events.follow(acme.id, { after: 1 }, options))
      found.push(sequence)
  })
  await eventually("the last place is taken", async () => {
    const { response } = await openStream(acme.path, key)
    if (response.status === 503) return true
    await response.body?.cancel()
    return undefined
  })
  await writeMany(acme, 300, { atOnce: 10 })
  const expected = sequences(await listed(acme.reader, acme.path, {}))
  await eventually("all have seen all", async () => seen.every(({ length }) => length >= 300))
  for (const found of seen) assert.deepEqual(found, expected)
  end.abort()
  for (const result of await Promise.allSettled(ended)) assert.equal(result.status, "rejected")
  await readChain(acme.reader, acme.id)
})

test("a stop ends waiting streams and questions at once", async () => {
  const few = { TALLYSTICK_LIMIT_FOLLOWERS_OF_WORKSPACE_MAX: "2" }
  await using other = await startService({ environment: few })
  const acme = await makeWorkspace(other)
  const { nextAfter } = await feed(acme.reader, acme.path)
  const { ended, said } = await openStream(acme.path, acme.reader.bearer, { url: other.url })
  const waiting = feed(acme.reader, acme.path, { after: nextAfter, wait: 30 })
  await eventually("both wait", async () => {
    const { status } = await acme.reader.get(`${acme.path}/events/feed?after=9&wait=1`)
    return status === 503
  })
  await readChain(acme.reader, acme.id)
  const exit = other.end()
  // A drain would cut them after eight seconds.
  await ended
  assert.match(said.text, /^: follows\n|^id: /)
  assert.deepEqual(await waiting, { events: [], nextAfter, hasMore: false })
  assert.equal(await exit, 0)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
