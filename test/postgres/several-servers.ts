import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { tallystick } from "../program.ts"
import type { Audited } from "../promises/audit.ts"
import type { Chance } from "../chance.ts"
import { note, send, type Write } from "../promises/writes.ts"
import {
  eventually,
  logKeyOf,
  make,
  eventFor,
  makeWorkspace,
  writeEvent,
  type Reply,
  type Service,
  type Workspace,
} from "../service.ts"
import { askDatabase } from "../postgres-server.ts"
import { auditCrowd, emptyCrowd, expectWhole, startServers, writeWhile } from "./servers.ts"

// What several servers write together, and how soon one knows what another did.

export interface Across extends Audited {
  readonly written: number
  readonly replayed: number
  /** Requests that each server has answered with receipts. */
  readonly recorded: readonly number[]
  readonly slowestMs: number
}

export interface AcrossOptions {
  readonly database: string
  readonly servers: number
  readonly events: number
  readonly chance: Chance
}

export async function writeAcross(options: AcrossOptions): Promise<Across> {
  const { database, events, chance } = options
  await using servers = await startServers(database, options.servers)
  const [first, ...others] = servers.all as [Service, ...Service[]] // there are two or more
  const workspaces = [await makeWorkspace(first), await makeWorkspace(chance.pick(others))]
  const crowd = { workspaces, writersOfEach: 8, batchMax: 20, chance }
  const seen = emptyCrowd()
  await writeWhile(() => seen.writes.length < events, servers, crowd, seen)
  assert.deepEqual([seen.unavailable, seen.busy, seen.cut], [0, 0, 0], "a lost race is run again")
  const recorded = servers.all.map((service) => seen.recorded.get(service) ?? 0)
  const fair = recorded.reduce((sum, count) => sum + count, 0) / recorded.length
  for (const count of recorded)
    assert.ok(count >= fair / 4, `one server does little of the work: ${recorded.join(", ")}`)
  const audited = await auditCrowd(servers, crowd, seen)
  await expectNoneBehind(servers.all)
  for (const workspace of workspaces)
    await expectGenuine(chance.pick(servers.all), chance.pick(servers.all), workspace)
  await expectWhole(servers)
  return {
    ...audited,
    written: seen.writes.length,
    replayed: seen.replayed,
    recorded,
    slowestMs: Math.round(seen.slowestMs),
  }
}

/** No server waits for a follower of another. */
async function expectNoneBehind(services: readonly Service[]): Promise<void> {
  const lag = /^tallystick_(checkpoint_age_seconds|follower_lag_entries\{.*\}) (?!0$).*/gm
  for (const service of services) {
    let behind: readonly string[] = []
    const isLevel = async () => {
      behind = (await service.client().get("/metrics")).text.match(lag) ?? []
      return behind.length === 0 || undefined
    }
    await eventually("a server to be up to date", isLevel).catch((error: unknown) =>
      assert.fail(`${String(error)}: ${behind.join(", ")}`),
    )
  }
}

/** A receipt that one server has shown, and a pack that another has made, verify offline. */
async function expectGenuine(
  one: Service,
  other: Service,
  { id, path, reader }: Workspace,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tallystick-"))
  try {
    const by = one.client(reader.bearer)
    const { events } = (await by.get(`${path}/events?limit=2`)).json()
    const receiptIds = events.map((event: { receipt: string }) => event.receipt)
    const vkey = await logKeyOf(by, path)
    const pack = await make(other.client(reader.bearer), `${path}/evidence-packs`, {
      title: "For the auditor",
      receiptIds,
    })
    const files = {
      "receipt.json": await by.get(`${path}/receipts/${receiptIds[0]}`),
      "pack.zip": await by.get(`${path}/evidence-packs/${pack.packId}/download`),
    }
    for (const [name, { status, bytes }] of Object.entries(files)) {
      assert.equal(status, 200, `${name} of ${id}`)
      await writeFile(join(folder, name), bytes)
      const ended = await tallystick(["verify", join(folder, name), "--key", vkey])
      assert.equal(ended.code, 0, `${name}: ${ended.output}${ended.errors}`)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

export interface Killed extends Audited {
  readonly written: number
  readonly cut: number
  /** Until the last workspace had a checkpoint of what was written after the kill. */
  readonly signedAfterMs: number
}

export interface KillOptions {
  readonly database: string
  readonly workspaces: number
  readonly chance: Chance
}

export async function killUnderLoad(options: KillOptions): Promise<Killed> {
  const { database, chance } = options
  await using servers = await startServers(database, 2)
  const [first, second] = servers.all as [Service, Service]
  const workspaces = await Promise.all(
    Array.from({ length: options.workspaces }, (_, place) =>
      makeWorkspace(place % 2 === 0 ? first : second),
    ),
  )
  const crowd = { workspaces, writersOfEach: 3, batchMax: 5, chance }
  const seen = emptyCrowd()
  let isOver = false
  const load = writeWhile(() => !isOver, servers, crowd, seen)
  const look = <T>(what: string, find: () => Promise<T | undefined>) =>
    Promise.race([eventually(what, find, 30_000), load.then(() => assert.fail("it goes on"))])
  const isSigned = async ({ id }: Workspace) => (await signedOf(database, id)) > 1
  await look("both to follow", async () => {
    const leases = await askDatabase(database, "SELECT DISTINCT holder FROM tallystick.leases")
    const signed = await Promise.all(workspaces.map(isSigned))
    return (leases.length >= 2 && signed.every((one) => one)) || undefined
  })
  const victim = chance.pick([first, second])
  await servers.kill(victim)
  const [survivor] = servers.all as [Service]
  const killedMs = performance.now()
  // New entries are found and signed, also in workspaces that the killed server followed.
  for (const { id, path, writer, reader } of workspaces) {
    const name = `after-the-kill-${id}`
    const body = { ...eventFor(id, { target: { id: name, type: "thing" } }) }
    const write: Write = { route: "/v1/events", workspaceId: id, key: name, body }
    note([write], await send(survivor.client(writer.bearer), [write]))
    seen.writes.push(write)
    await look("a search that is answered", async () => {
      const found = await survivor.client(reader.bearer).get(`${path}/events?query=${name}`)
      if (found.status === 503) return undefined
      assert.equal(found.json().events.length, 1, found.text)
      return true
    })
  }
  const heads = await Promise.all(workspaces.map(({ id }) => headOf(database, id)))
  await look("the other server to sign on", async () => {
    const sizes = await Promise.all(workspaces.map(({ id }) => signedOf(database, id)))
    return sizes.every((size, place) => size >= (heads[place] ?? 0)) || undefined
  })
  const signedAfterMs = Math.round(performance.now() - killedMs)
  assert.ok(signedAfterMs < signsWithinMs + busyMs, `it signed after ${signedAfterMs} milliseconds`)
  isOver = true
  await load
  const audited = await auditCrowd(servers, crowd, seen)
  await expectWhole(servers)
  const { cut, writes } = seen
  return { ...audited, written: writes.length, cut, signedAfterMs }
}

const signsWithinMs = 10_000
/** What a busy machine may add. */
const busyMs = 5000

async function signedOf(database: string, workspace: string): Promise<number> {
  const [row] = await askDatabase(
    database,
    "SELECT size FROM tallystick.checkpoints WHERE workspace_id = $1",
    [workspace],
  )
  return Number(row?.["size"] ?? 0)
}

async function headOf(database: string, workspace: string): Promise<number> {
  const [row] = await askDatabase(
    database,
    "SELECT sequence FROM tallystick.heads WHERE workspace_id = $1",
    [workspace],
  )
  return Number(row?.["sequence"])
}

/** The longest delay until the other server knew, in milliseconds. */
export interface Late {
  key: number
  token: number
  settings: number
  project: number
}

/** Uses what one server changes at the other, until it knows. */
export async function revokeAcross(database: string, rounds: number): Promise<Late> {
  await using servers = await startServers(database, 2)
  const [one, other] = servers.all as [Service, Service]
  const workspace = await makeWorkspace(one)
  const { id, path } = workspace
  const late: Late = { key: 0, token: 0, settings: 0, project: 0 }
  const within = async (
    what: keyof Late,
    change: () => Promise<Reply>,
    isKnown: () => Promise<boolean>,
  ) => {
    assert.equal(await isKnown(), false, `${what}: the other server has it from before`)
    const changed = await change()
    assert.ok(changed.status < 300, changed.text)
    const begun = performance.now()
    await eventually(what, async () => await isKnown())
    late[what] = Math.max(late[what], Math.round(performance.now() - begun))
    assert.ok(late[what] < knownWithinMs + busyMs, `${what}: ${late[what]} milliseconds`)
  }
  for (let round = 0; round < rounds; round++) {
    const makeKey = () =>
      make(one.root, `${path}/api-keys`, { name: "k", scopes: ["read", "write"] })
    const [key, ended] = [await makeKey(), await makeKey()]
    const isRefused = (bearer: string, at: string) => async () =>
      (await other.client(bearer).get(at)).status === 401
    const { receipt } = await writeEvent({ id, writer: one.client(key.key) })
    const opened = `${path}/receipts/${receipt}`
    const { token } = await make(one.client(key.key), `${opened}/token`, {})
    const project = `project-${round}`
    await writeEvent({ id, writer: other.client(workspace.writer.bearer) }, { projectId: project })
    const isNamed = (at: string) => async () =>
      (await other.root.get(at)).text.includes(`"renamed-${round}"`)
    await Promise.all([
      within(
        "token",
        () => one.root.delete(`${path}/tokens/${token.split("_")[1]}`),
        isRefused(token, opened),
      ),
      within(
        "key",
        () => one.root.delete(`${path}/api-keys/${ended.keyId}`),
        isRefused(ended.key, path),
      ),
      within("settings", () => one.root.patch(path, { name: `renamed-${round}` }), isNamed(path)),
      within(
        "project",
        () => one.root.patch(`${path}/projects/${project}`, { name: `renamed-${round}` }),
        isNamed(`${path}/projects/${project}`),
      ),
    ])
  }
  return late
}

const knownWithinMs = 5000
