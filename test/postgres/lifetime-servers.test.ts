import assert from "node:assert/strict"
import test from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { expectChain } from "../chain.ts"
import { busyArchiver, filed } from "../crash/archived-ledger.ts"
import { startPostgres } from "../postgres-server.ts"
import { createChance, seedOf } from "../chance.ts"
import {
  eventually,
  makeWorkspace,
  unlessCut,
  writeMany,
  type Service,
  clockModule,
} from "../service.ts"
import { expectWhole, startServers, type Servers } from "./servers.ts"

// Two servers could both pack, archive, expire and erase the same workspace, and one is killed
// again and again: everything happens once.

const server = await startPostgres()
test.after(() => server[Symbol.asyncDispose]())

const kills = 1
const rounds = 1
const perProject = 300
const people = 20
/** Entries are three days old. */
const clock = clockModule(3)
const later = { ...busyArchiver, NODE_OPTIONS: `--import=${clock}` }

test("two servers change the contents of one workspace, and are killed: everything happens once", async (t) => {
  const chance = createChance(seedOf(t))
  await using servers = await startServers(await server.createDatabase(), 1)
  const { path, id, receipts } = await writePeople(servers)
  await Promise.all([servers.start(later), servers.start(later)])

  const asked: string[] = []
  for (let round = 0; round < kills; round++) {
    const [one, other] = servers.all as [Service, Service]
    await ruleFor(one, path, `p${round}`)
    const scope = chance.pick(["fields", "entries"])
    const request = { subject: { id: `usr_${round}` }, reason: "a test", scope }
    const underWay = [one, other].flatMap(({ root }) => [
      unlessCut(root.post(`${path}/retention/run`, {})),
      unlessCut(root.post(`${path}/erasures`, request)),
    ])
    await sleep(chance.below(400))
    await servers.kill(chance.pick([one, other]))
    for (const reply of await Promise.all(underWay)) {
      if (reply === undefined) continue
      assert.ok([200, 202, 409, 503].includes(reply.status), `${reply.text} ${logsOf(servers)}`)
      const { erasureId } = reply.json()
      if (erasureId !== undefined) asked.push(erasureId)
    }
    await servers.start(later)
  }

  const [last] = servers.all as [Service]
  await untilAllDone(last, path, servers)
  await expectOnce(last, path, asked)
  await expectChain(last.root, id, receipts)
  await expectWhole(servers)
})

test("while one server archives, erases and expires, another one never calls an entry broken", async (t) => {
  const chance = createChance(seedOf(t))
  await using servers = await startServers(await server.createDatabase(), 1)
  const { path, id, receipts } = await writePeople(servers)
  const [one, other] = [await servers.start(later), await servers.start(later)]
  const shown = new Set<string>()
  const look = async (what: string): Promise<void> => {
    const reply = await other.root.get(`${path}/${what}`)
    // A search may take too long while the machine is busy.
    if (reply.status === 503) return
    assert.equal(reply.status, 200, `${what}: ${reply.text} ${other.log()}`)
    const { events = [reply.json().entry] } = reply.json()
    for (const { integrity, sequence } of events) {
      assert.match(integrity, /^(verified|pending|erased|expired)$/, `${sequence} in ${what}`)
      shown.add(integrity)
    }
  }
  const ended = new AbortController()
  const list = "events?storage=all&limit=100"
  const read = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      // Changes take seconds, and reads without a pause would take a processor from them.
      await sleep(100)
      await look(`${list}&cursor=${chance.below(filed)}`)
      await look(`${list}&query=actor:usr_${chance.below(people)}`)
      await look(`${list}&projectId=p${chance.below(rounds)}`)
      await look(`receipts/${chance.pick(receipts).receipt}`)
    }
  }
  const change = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await ruleFor(one, path, `p${round}`)
      const scope = chance.pick(["fields", "entries"])
      const request = { subject: { id: `usr_${round}` }, reason: "a test", scope }
      const asked = await one.root.post(`${path}/erasures`, request)
      assert.equal(asked.status, 202, asked.text)
      await one.root.post(`${path}/retention/run`, {})
    }
    await untilAllDone(one, path, servers)
  }
  const changing = change().finally(() => ended.abort())
  await Promise.all([changing, read()])
  // On a busy machine, the reads meanwhile may have met none of what was changed last.
  for (let cursor = filed + 100; cursor > 0; cursor -= 100) await look(`${list}&cursor=${cursor}`)
  shown.delete("pending")
  assert.deepEqual([...shown].toSorted(), ["erased", "expired", "verified"])
  await expectChain(other.root, id, receipts)
  await expectWhole(servers)
})

/** A first server writes entries of some people and projects, and is killed. */
async function writePeople(servers: Servers) {
  const [first] = servers.all as [Service]
  const workspace = await makeWorkspace(first, { hotDays: 0 })
  const receipts = await writeMany(workspace, filed + 60, {
    atOnce: 1000,
    changes: (at) => ({
      projectId: `p${Math.floor(at / perProject)}`,
      actor: { id: `usr_${at % people}`, type: "user", email: `mail-${at % people}@example.com` },
    }),
  })
  await servers.kill(first)
  return { id: workspace.id, path: workspace.path, receipts }
}

/** It may take its time as long as it goes on. */
async function untilAllDone({ root }: Service, path: string, servers: Servers): Promise<void> {
  const look = async () => {
    const run = await root.post(`${path}/retention/run`, {})
    const { erasures } = (await root.get(`${path}/erasures?limit=100`)).json()
    const { segments } = (await root.get(`${path}/segments?limit=100`)).json()
    const states: readonly string[] = erasures.map(({ state }: { state: string }) => state)
    // Another one may hold the lease.
    const isRun = run.status === 200 || run.json().error === "conflict"
    const end = Math.max(0, ...segments.map((one: Segment) => one.lastSequence))
    const isDone = isRun && states.every((state) => state === "done") && end >= filed - 64
    return { isDone, reached: `${states.join(" ")}, archived up to ${end}` }
  }
  for (let before = ""; ;) {
    const { isDone, reached } = await eventually(
      `more than ${before} to be archived, expired and erased`,
      async () => {
        const now = await look()
        return now.isDone || now.reached !== before ? now : undefined
      },
      120_000,
    ).catch((cause: unknown) => {
      throw new Error(logsOf(servers), { cause })
    })
    if (isDone) return
    before = reached
  }
}

interface Page {
  readonly events: readonly {
    readonly action: string
    readonly target: { readonly id: string }
    readonly metadata: { readonly bodies: readonly [number, number][]; readonly part?: number }
  }[]
  readonly hasMore: boolean
  readonly nextCursor: string
}

interface Segment {
  readonly firstSequence: number
  readonly lastSequence: number
}

async function ruleFor({ root }: Service, path: string, projectId: string): Promise<void> {
  await eventually("the rule to be set", async () => {
    const rules = { retention: [{ projectId, days: 1 }] }
    const { token } = (await root.post(`${path}/retention/preview`, rules)).json()
    const set = await root.patch(path, { ...rules, confirm: token })
    return set.status === 200
  })
}

function logsOf({ all }: Servers): string {
  return all.map((service) => service.log()).join("\n")
}

/**
 * Nothing is in two segments, no content expired twice, and no part of an erasure was recorded
 * twice.
 */
async function expectOnce(
  { root }: Service,
  path: string,
  asked: readonly string[],
): Promise<void> {
  const { segments } = (await root.get(`${path}/segments?limit=100`)).json()
  const inOrder = segments.toSorted((a: Segment, b: Segment) => a.firstSequence - b.firstSequence)
  for (const [at, one] of inOrder.entries())
    assert.ok(at === 0 || one.firstSequence > inOrder[at - 1].lastSequence, "two segments overlap")
  const expired = new Set<number>()
  const steps = new Set<string>()
  for (let cursor: string | number = 0; ;) {
    const list: string = `${path}/events?includeSystem=true&storage=all&limit=100&cursor=${cursor}`
    const page: Page = (await root.get(list)).json()
    for (const { action, metadata, target } of page.events) {
      if (action === "retention.body.expire")
        for (const [from, to] of metadata.bodies)
          for (let sequence = from; sequence <= to; sequence++) {
            assert.ok(!expired.has(sequence), `entry ${sequence} expired twice`)
            expired.add(sequence)
          }
      if (!/^privacy\.(subject\.erase|erasure\.complete)$/.test(action)) continue
      const step = `${target.id} ${action} ${metadata.part ?? ""}`
      assert.ok(!steps.has(step), `${step} is there twice`)
      steps.add(step)
    }
    if (!page.hasMore) break
    cursor = page.nextCursor
  }
  // The last rule is for one project, and each round may have erased one person's entries in it.
  const leastExpired = perProject - kills * (perProject / people)
  assert.ok(expired.size >= leastExpired, `${expired.size} expired`)
  for (const id of asked) assert.ok(steps.has(`${id} privacy.erasure.complete `), `${id} is done`)
}
