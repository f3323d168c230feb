import assert from "node:assert/strict"
import { once } from "node:events"
import { request } from "node:http"
import { after, test } from "node:test"
import { readChain } from "../chain.ts"
import { metric } from "../metrics.ts"
import {
  eventFor,
  eventually,
  makeWorkspace,
  startService,
  type Service,
  type Workspace,
  writeMany,
} from "../service.ts"

// Searches of one workspace must not delay another.

const services: Service[] = []
after(async () => {
  for (const service of services) await service[Symbol.asyncDispose]()
})

async function start(environment: Readonly<Record<string, string>> = {}): Promise<Service> {
  const service = await startService({ environment })
  services.push(service)
  return service
}

const entries = 400

/** A workspace with so many words that a search for a short prefix takes some ten milliseconds. */
async function wordyWorkspace(service: Service): Promise<Workspace> {
  const wordy = await makeWorkspace(service)
  const note = Array.from({ length: 1000 }, (_, at) => (at * 7919).toString(36)).join(" ")
  const receipts = await writeMany(wordy, entries, {
    changes: (at) => ({ metadata: { note: `${note} ${at}` } }),
  })
  const last = receipts.at(-1)?.receipt
  await eventually("all of it is filed", async () => {
    const { receipt } = (await wordy.reader.get(`${wordy.path}/receipts/${last}`)).json()
    return receipt.queued === false
  })
  return wordy
}

const broad = encodeURIComponent("1 2 3 4 5 6 7 8 9 a b c d e f g")

test("searches of one workspace never delay another's lists, and delay its searches by a few steps", async () => {
  const service = await start()
  const [greedy, other] = [await wordyWorkspace(service), await makeWorkspace(service)]
  assert.equal((await other.writer.write(eventFor(other.id))).status, 202)
  const ended: string[] = []
  const asked = Array.from({ length: 60 }, (_, at) =>
    // Each is another search, so that no total is remembered.
    greedy.reader
      .get(`${greedy.path}/events?query=${broad}&limit=1&to=20${at + 30}-01-01T00:00:00Z`)
      .finally(() => ended.push("greedy")),
  )
  for (const query of ["", "?query=invoice", "", "?query=inv_9"]) {
    const page = await other.reader.get(`${other.path}/events${query}`)
    assert.deepEqual([page.status, page.json().total], [200, 1], page.text)
    ended.push("other")
  }
  const before = ended.filter((who) => who === "greedy").length
  assert.ok(
    before < 30,
    `the other workspace was answered between the first one's searches: ${ended.join(" ")}`,
  )
  for (const reply of await Promise.all(asked)) {
    if (reply.status === 200) assert.equal(reply.json().total, entries)
    else
      assert.deepEqual(
        [reply.json().error, Number(reply.headers.get("retry-after")) >= 1],
        ["overloaded", true],
      )
  }
  for (const { reader, id } of [greedy, other]) await readChain(reader, id)
})

/** Processor time of the service so far: how busy the machine is changes it little. */
async function spentMs(service: Service): Promise<number> {
  return 1000 * (await metric(service, "process_cpu_seconds_total"))
}

test("a search ends when its client hangs up", async () => {
  const service = await start({ TALLYSTICK_LIMIT_SEARCH_TIMEOUT_MS: "60000" })
  const { reader, path, id } = await wordyWorkspace(service)
  let year = 2030
  const target = () => `${path}/events?query=${broad}&limit=1&to=${year++}-01-01T00:00:00Z`
  const search = async (): Promise<void> => assert.equal((await reader.get(target())).status, 200)
  // The first ones read the segments, and are compiled while they run.
  for (let at = 0; at < 10; at++) await search()
  const quiet = 10
  const beforeMs = await spentMs(service)
  for (let at = 0; at < quiet; at++) await search()
  const quietMs = ((await spentMs(service)) - beforeMs) / quiet

  const headers = { authorization: `Bearer ${reader.bearer}` }
  const sent = Array.from({ length: 300 }, () =>
    request(service.url + target(), { headers, agent: false }).on("error", () => {}),
  )
  const answered = Promise.race(sent.map((one) => once(one, "response")))
  const written = Promise.all(sent.map((one) => once(one, "finish")))
  for (const one of sent) one.end()
  await Promise.all([answered, written])
  for (const one of sent) one.destroy()
  const leftMs = await spentMs(service)
  await search()
  const afterMs = (await spentMs(service)) - leftMs
  assert.ok(
    afterMs < quietMs * 40,
    `${Math.round(afterMs)} ms for 300 searches that nobody waits for and one more; ${Math.round(quietMs)} ms for one`,
  )
  await readChain(reader, id)
})

test("a search that exceeds its time is refused, and may be repeated", async () => {
  const service = await start({ TALLYSTICK_LIMIT_SEARCH_TIMEOUT_MS: "1" })
  const { reader, path, id } = await wordyWorkspace(service)
  const late = await reader.get(`${path}/events?query=${broad}&limit=1`)
  assert.deepEqual([late.status, late.json().error], [503, "overloaded"], late.text)
  assert.ok(Number(late.headers.get("retry-after")) >= 1)
  assert.equal(
    (await reader.get(`${path}/events?limit=1`)).json().total,
    entries,
    "a list takes no search's time",
  )
  await readChain(reader, id)
})
