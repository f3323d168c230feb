import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import type { Fault } from "../crash/faults.ts"
import type { OwnPostgresServer } from "../postgres-server.ts"
import type { Audited } from "../promises/audit.ts"
import type { Chance } from "../chance.ts"
import { eventFor, eventually, makeWorkspace, type Service, type Workspace } from "../service.ts"
import {
  auditCrowd,
  emptyCrowd,
  expectWhole,
  startServers,
  writeWhile,
  type Crowded,
  type Servers,
} from "./servers.ts"
import { untilReady } from "../until.ts"

// The database fails under load, in every way that happens. The servers report it at once, and
// continue by themselves when it is back.

export interface Away extends Audited, Omit<Crowded, "writes" | "recorded"> {
  readonly written: number
  readonly terminations: number
  readonly kills: number
  readonly hangs: number
}

export interface AwayOptions {
  readonly database: OwnPostgresServer
  readonly servers: number
  /** How often all connections are cut. */
  readonly terminations: number
  /** How often the postmaster is killed, and started again. */
  readonly kills: number
  /** How often all of its processes stop, and go on. */
  readonly hangs: number
  readonly chance: Chance
  readonly fault?: Fault
}

/** A request is answered within this time, whatever the database does. */
const answersWithinMs = 10_000
/** What a busy machine may add. */
const busyMs = 5000

export async function takeDatabaseAway(options: AwayOptions): Promise<Away> {
  const { database, chance, fault } = options
  await using servers = await startServers(await database.createDatabase(), options.servers, fault)
  const [first] = servers.all as [Service]
  const workspaces = await Promise.all([0, 1, 2].map(() => makeWorkspace(first)))
  const crowd = { workspaces, writersOfEach: 4, batchMax: 5, chance }
  const seen = emptyCrowd()
  let isOver = false
  const mayGoOn = () => !isOver
  const load = Promise.all([
    writeWhile(mayGoOn, servers, crowd, seen),
    ...servers.all.map((service) => readWhile(mayGoOn, service, workspaces)),
  ])
  const some = () => Promise.race([written(seen, 3), load])
  for (let cut = 0; cut < options.terminations; cut++) {
    await some()
    await database.terminateBackends()
  }
  for (let kill = 0; kill < options.kills; kill++) {
    await some()
    await database.kill()
    await expectNotReady(servers)
    await database.restart()
    await expectReady(servers)
  }
  for (let hang = 0; hang < options.hangs; hang++) {
    await some()
    await database.hang()
    try {
      await expectNotReady(servers)
      await expectRefusals(servers)
    } finally {
      // A stopped process would never end.
      database.goOn()
    }
    await expectReady(servers)
  }
  await some()
  isOver = true
  await load
  await expectReady(servers)
  for (const service of servers.all) {
    assert.equal(service.process.exitCode ?? service.process.signalCode, null, "a server ended")
    assert.doesNotMatch(service.log(), /"level":60/, "a server was about to end")
  }
  assert.ok(
    seen.slowestMs < answersWithinMs + busyMs,
    `a request waited for ${seen.slowestMs} milliseconds`,
  )
  const { writes, recorded: _, ...counts } = seen
  const audited = await auditCrowd(servers, crowd, seen)
  await expectWhole(servers)
  const { terminations, kills, hangs } = options
  return { ...audited, ...counts, written: writes.length, terminations, kills, hangs }
}

async function readWhile(
  mayGoOn: () => boolean,
  service: Service,
  workspaces: readonly Workspace[],
): Promise<void> {
  while (mayGoOn())
    for (const { path, reader } of workspaces) {
      const { status, text } = await service.client(reader.bearer).get(`${path}/events?limit=5`)
      assert.ok(status === 200 || status === 503, `${status} ${text}`)
      await sleep(readEveryMs)
    }
}

const readEveryMs = 30

/** Waits until so many more were acknowledged. */
async function written(seen: Crowded, count: number): Promise<void> {
  const acknowledged = () => [...seen.recorded.values()].reduce((sum, each) => sum + each, 0)
  const enough = acknowledged() + count
  await eventually("the servers to go on", async () => acknowledged() >= enough, backWithinMs)
}

const backWithinMs = 30_000

async function expectNotReady({ all }: Servers): Promise<void> {
  for (const service of all) {
    await eventually("a server to say that its database is away", async () => {
      const { status, text } = await service.client().get("/readyz?verbose")
      if (status === 200) return undefined
      assert.match(text, /"name":"storage","ok":false/)
      return status
    })
    const metrics = await service.client().get("/metrics")
    assert.match(metrics.text, /^tallystick_database_up 0$/m)
    assert.match(metrics.text, /^tallystick_database_synchronous_standbys Nan$/im)
    assert.match(metrics.text, /^tallystick_database_unreachable_nodes Nan$/im)
    assert.doesNotMatch(metrics.text, /^tallystick_disk/m)
  }
}

async function expectReady({ all }: Servers): Promise<void> {
  for (const service of all) await untilReady(service, backWithinMs)
}

/** Once a server knows that its database is away, it refuses at once. */
async function expectRefusals({ all }: Servers): Promise<void> {
  for (const service of all)
    await eventually("a server to refuse at once", async () => {
      const begun = performance.now()
      const reply = await service.root.write(eventFor("nowhere"))
      assert.equal(reply.status, 503, reply.text)
      assert.equal(reply.json().error, "ledger_unavailable")
      return performance.now() - begun < quickMs
    })
}

const quickMs = 500
