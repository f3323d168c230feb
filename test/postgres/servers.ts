import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Fault } from "../crash/faults.ts"
import { fsck, passes, sentenceOf } from "../../packages/server/src/operator/fsck/fsck.ts"
import { shareDatabase } from "../engine.ts"
import { faultyProgram } from "../program.ts"
import { audit, type Audited } from "../promises/audit.ts"
import type { Chance } from "../chance.ts"
import { eventWrite, note, send, type Sending, type Write } from "../promises/writes.ts"
import { startService, type Reply, type Service, type Workspace } from "../service.ts"

// Several services with one database, each with a data folder of its own, and clients that write
// to all of them.

export interface Servers extends AsyncDisposable {
  readonly database: string
  /** Those that run. */
  readonly all: readonly Service[]
  /** One more, with these settings besides. */
  start(settings?: Readonly<Record<string, string>>): Promise<Service>
  /** Sends SIGKILL. Its clients go to another server. */
  kill(service: Service): Promise<void>
}

export async function startServers(
  database: string,
  count: number,
  fault?: Fault,
): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), "tallystick-"))
  const environment = {
    TALLYSTICK_SECRET: randomBytes(32).toString("hex"),
    TALLYSTICK_ROOT_KEY: `test-root-${randomBytes(32).toString("base64url")}`,
    // The address of a load balancer: receipts contain it, so every server sends the same bytes.
    TALLYSTICK_PUBLIC_URL: "http://ledger.example.com",
    TALLYSTICK_ARCHIVE: join(folder, "archive"),
  }
  const running: Service[] = []
  let started = 0
  const planted = fault === undefined ? {} : { program: faultyProgram, arguments: [fault] }
  const start = async (settings: Readonly<Record<string, string>> = {}): Promise<Service> => {
    const data = join(folder, `server-${++started}`)
    shareDatabase(data, database)
    const service = await startService({
      data,
      environment: { ...environment, ...settings },
      ...planted,
    })
    running.push(service)
    return service
  }
  await Promise.all(Array.from({ length: count }, () => start()))
  return {
    database,
    all: running,
    start,
    async kill(service) {
      running.splice(running.indexOf(service), 1)
      await service.end("SIGKILL")
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((service) => service[Symbol.asyncDispose]()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

// Writers -----------------------------------------------------------------------------------------

export interface Crowd {
  readonly workspaces: readonly Workspace[]
  readonly writersOfEach: number
  readonly batchMax: number
  readonly chance: Chance
}

export interface Crowded {
  /** All that was sent; when the crowd has ended, each is acknowledged. */
  readonly writes: Write[]
  /** Requests that each server has answered with receipts. */
  readonly recorded: Map<Service, number>
  /** Of those, how many had been recorded by an earlier try, or through another server. */
  replayed: number
  /** Answers that said that the ledger cannot be reached, or that the outcome is unknown. */
  unavailable: number
  /** Other refusals of a busy database. */
  busy: number
  /** Requests that a killed server left without an answer. */
  cut: number
  slowestMs: number
}

export function emptyCrowd(): Crowded {
  return {
    writes: [],
    recorded: new Map(),
    replayed: 0,
    unavailable: 0,
    busy: 0,
    cut: 0,
    slowestMs: 0,
  }
}

/**
 * Each server has its writers, which write until they are stopped, and repeat unacknowledged writes
 * at any server. They also repeat a tenth of the acknowledged ones.
 */
export async function writeWhile(
  mayGoOn: () => boolean,
  servers: Servers,
  crowd: Crowd,
  seen: Crowded,
): Promise<void> {
  const { workspaces, writersOfEach, batchMax, chance } = crowd
  const writer = async (own: Service): Promise<void> => {
    while (mayGoOn()) {
      const workspace = chance.percent(80)
        ? (workspaces[0] ?? chance.pick(workspaces))
        : chance.pick(workspaces)
      const size = chance.percent(80) ? 1 : 1 + chance.below(batchMax)
      const sending = Array.from({ length: size }, (_, place) =>
        eventWrite(workspace.id, `write-${seen.writes.length + place}-of-many`, chance),
      ) as unknown as Sending // one, or more
      seen.writes.push(...sending)
      await writeUntilKnown(servers, own, workspace, sending, seen, chance)
      if (chance.percent(10))
        await writeUntilKnown(servers, chance.pick(servers.all), workspace, sending, seen, chance)
    }
  }
  await Promise.all(
    servers.all.flatMap((service) => Array.from({ length: writersOfEach }, () => writer(service))),
  )
}

async function writeUntilKnown(
  servers: Servers,
  own: Service,
  workspace: Workspace,
  sending: Sending,
  seen: Crowded,
  chance: Chance,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    const service = tries === 0 && servers.all.includes(own) ? own : chance.pick(servers.all)
    const reply = await answerOf(servers, service, workspace, sending, seen)
    if (reply?.status === 202) {
      seen.replayed += note(sending, reply).replayed
      seen.recorded.set(service, (seen.recorded.get(service) ?? 0) + 1)
      return
    }
    if (reply === undefined) seen.cut += 1
    else {
      const { error } = reply.json()
      assert.ok(
        reply.status === 503 && ["ledger_unavailable", "overloaded"].includes(error),
        `${reply.status} ${reply.text}`,
      )
      if (error === "overloaded") seen.busy += 1
      else seen.unavailable += 1
    }
    assert.ok(tries < triesMax, "the service does not come to know")
    await sleep(retryMs)
  }
}

const triesMax = 1000
const retryMs = 50

/** Undefined if the server was killed meanwhile. */
async function answerOf(
  servers: Servers,
  service: Service,
  { writer }: Workspace,
  sending: Sending,
  seen: Crowded,
): Promise<Reply | undefined> {
  const begun = performance.now()
  try {
    return await send(service.client(writer.bearer), sending)
  } catch (error) {
    if (servers.all.includes(service)) throw error
    return undefined
  } finally {
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - begun)
  }
}

/** Every server has every write once, and intact chains. */
export function auditCrowd(
  servers: Servers,
  { workspaces, chance }: Crowd,
  { writes }: Crowded,
): Promise<Audited> {
  const service = chance.pick(servers.all)
  return audit(service, { workspaces, writes, lookUpsMax: 50, replaysMax: 200, chance })
}

/** Ends all servers, and derives all that they have stored again. */
export async function expectWhole({ all, database }: Servers): Promise<void> {
  const [one] = all
  assert.ok(one !== undefined)
  for (const service of all) assert.equal(await service.end(), 0, service.log())
  const { faults } = await fsck({
    data: one.data,
    databaseUrl: database,
    heads: `${one.data}.heads`,
    archive: { kind: "folder", path: join(one.data, "..", "archive") },
    workspaces: undefined,
    checkpoints: [],
    passes,
    threads: 0,
    progress: () => {},
  })
  assert.deepEqual(faults.map(sentenceOf), [])
}
