import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { cp, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { expectChain, readChain } from "../chain.ts"
import type { Fault } from "../crash/faults.ts"
import { startProgram } from "../crash/programs.ts"
import { makeWorkspace, type Reply, type Service, type Workspace } from "../service.ts"
import { audit } from "./audit.ts"
import type { Chance } from "./chance.ts"
import { expectKept } from "./kept.ts"
import { makeChangeable, refusables, type Changeable } from "./restored-asks.ts"
import { eventWrite, note, sendUntilKnown, type Write } from "./writes.ts"

// A ledger is copied while it is written to, goes on, and is restored from the copy: it must hold all that was acknowledged before, be
// read-only, and not go on as if nothing were missing. From a copy that misses nothing it goes on, and is the same history.

export interface RestoreOptions {
  readonly rounds: number
  readonly chance: Chance
  /** What the restored copies are served by. */
  readonly fault?: Fault
}

export interface Restored {
  backups: number
  /** Writes that were acknowledged before a copy was begun, while it was made, and after it: those the copy cannot have. */
  before: number
  during: number
  lost: number
  /** Requests that a read-only service refused. */
  refused: number
  /** Receipts that a restored copy proved. */
  proved: number
  refusedResumes: number
  resumed: number
  /** Entries that were computed again at the end, from what is served. */
  entries: number
}

export async function restoreAgainAndAgain({ rounds, chance, fault }: RestoreOptions): Promise<Restored> {
  const counted = { backups: 0, before: 0, during: 0, lost: 0, refused: 0, proved: 0, refusedResumes: 0, resumed: 0, entries: 0 }
  for (let round = 0; round < rounds; round++) await restoreOnce(chance, fault, counted)
  return counted
}

interface Scene {
  readonly data: string
  readonly workspaces: readonly Workspace[]
  readonly changeable: Changeable
  readonly writes: Write[]
  readonly chance: Chance
  readonly fault: Fault | undefined
  readonly counted: Restored
}

async function restoreOnce(chance: Chance, fault: Fault | undefined, counted: Restored): Promise<void> {
  await using original = await startProgram()
  const { data } = original
  const workspaces = [await makeWorkspace(original), await makeWorkspace(original)]
  const changeable = await makeChangeable(original, await makeWorkspace(original))
  const writes: Write[] = []
  const scene: Scene = { data, workspaces, changeable, writes, chance, fault, counted }
  const [early, late] = ["early", "late"].map((name) => join(dirname(data), name)) as [string, string]

  const load = startLoad(original, workspaces, writes, chance)
  const acknowledged = (): number => writes.filter(({ receipt }) => receipt !== undefined).length
  try {
    await load.until(() => acknowledged() >= 40 + chance.below(100))
    const before = writes.filter(({ receipt }) => receipt !== undefined)
    await sign(original, workspaces, before)
    await backUp(scene, early)
    counted.before += before.length
    const during = acknowledged() - before.length
    counted.during += during
    await expectInCopy(early, workspaces, before)
    await load.until(() => acknowledged() >= before.length + during + 20)
  } finally {
    await load.stop()
  }
  const after = [eventWrite(idAt(workspaces, 0), "after-the-copy-0", chance), eventWrite(idAt(workspaces, 1), "after-the-copy-1", chance)]
  for (const write of after) await record(original, workspaces, write, writes)
  assert.equal(await original.end(), 0)
  await backUp(scene, late)

  const aside = `${data}-aside`
  await rename(data, aside)
  await expectBehind(scene, early)
  await expectWithoutHeads(scene, late)
  await expectResumed(scene, late)
}

/** A copy that misses what was signed: it can be read, proves what it has, and nothing makes it the ledger. */
async function expectBehind(scene: Scene, copy: string): Promise<void> {
  const { data, workspaces, writes, chance, counted } = scene
  await putInPlace(copy, data)
  {
    await using service = await startProgram({ data }, scene.fault)
    await expectReadOnly(service, scene, /ends at entry \d+, and \d+ were signed/)
    for (const { id, path, reader } of workspaces) {
      const client = service.client(reader.bearer)
      const kept = new Set((await expectKept(data, id)).hashes)
      const mine = writes.filter(({ workspaceId }) => workspaceId === id).map(mintedBy)
      const here = mine.filter(({ eventHash }) => kept.has(eventHash))
      const lost = mine.filter(({ eventHash }) => !kept.has(eventHash))
      assert.ok(lost.length > 0, "what was written after the copy is not in it")
      const signed = new Set((await readChain(client, id)).hashes)
      const some = someOf(
        here.filter(({ eventHash }) => signed.has(eventHash)),
        20,
        chance,
      )
      await expectChain(client, id, some)
      for (const { receipt } of someOf(here, 10, chance)) {
        const reply = await client.get(`${path}/receipts/${receipt}`)
        assert.equal(reply.json().verified, true, reply.text)
      }
      // What can be known of a receipt of the lost part is that its entry is not here.
      for (const { receipt } of someOf(lost, 10, chance)) assert.equal((await client.get(`${path}/receipts/${receipt}`)).status, 404)
      const found = await client.get(`${path}/events?limit=1`)
      assert.equal(found.json().total, here.length, "a copy finds what it has")
      counted.proved += some.length
      counted.lost += lost.length
    }
    assert.equal(await service.end(), 0)
  }
  await expectNotResumed(scene, /ends at entry \d+, and \d+ were signed/)
}

/** A copy that nobody can say of what was signed after it. */
async function expectWithoutHeads(scene: Scene, copy: string): Promise<void> {
  const { data } = scene
  await putInPlace(copy, data)
  await rename(`${data}.heads`, `${data}.heads-aside`)
  await expectNotResumed(scene, /the heads file knows nothing of workspace/)
  await rename(`${data}.heads-aside`, `${data}.heads`)
}

/** A copy that has all that was signed is read-only as well, until it is resumed; then it goes on where the original ended. */
async function expectResumed(scene: Scene, copy: string): Promise<void> {
  const { data, workspaces, writes, chance, counted } = scene
  await putInPlace(copy, data)
  {
    await using service = await startProgram({ data }, scene.fault)
    await expectReadOnly(service, scene, /is a copy that tallystick backup made/)
    assert.equal(await service.end(), 0)
  }
  assert.equal(markOf(data), true)
  const ran = await tallystick(data, "resume")
  assert.deepEqual([ran.code, ran.errors], [0, ""], ran.output)
  assert.equal(markOf(data), false)
  counted.resumed += 1

  await using service = await startProgram({ data })
  assert.equal((await service.client().get("/readyz")).status, 200)
  for (const { id } of workspaces) await record(service, workspaces, eventWrite(id, `after-it-was-resumed-${id}`, chance), writes)
  const audited = await audit(service, { workspaces, writes, lookUpsMax: 20, replaysMax: 50, chance })
  counted.entries += audited.entries
  assert.equal(await service.end(), 0)
}

async function expectNotResumed({ data, counted }: Scene, reason: RegExp): Promise<void> {
  const ran = await tallystick(data, "resume")
  assert.equal(ran.code, 1, ran.output)
  assert.match(ran.errors, reason)
  assert.match(ran.errors, /Nothing was changed/)
  assert.equal(markOf(data), true, "a copy that is not resumed stays one")
  counted.refusedResumes += 1
}

/** Says so wherever it is asked, refuses whatever would change something, and has changed nothing. */
async function expectReadOnly(service: Service, { changeable, workspaces, counted }: Scene, reason: RegExp): Promise<void> {
  const stateOf = ({ headers }: Reply) => headers.get("ledger-state")
  const ready = await service.client().get("/readyz")
  assert.deepEqual([ready.status, stateOf(ready)], [503, "read-only"], "a restored copy takes itself for the ledger")
  assert.match(ready.json().reason, reason)
  const all = [...workspaces, changeable.workspace]
  const sizes = () => Promise.all(all.map(async ({ id }) => (await expectKept(service.data, id)).size))
  const before = await sizes()
  for (const { operation, ask } of await refusables(service, changeable)) {
    const reply = await ask()
    assert.deepEqual([reply.status, stateOf(reply)], [503, "read-only"], `${operation} was not refused: ${reply.text}`)
    assert.equal(reply.json().error, "read_only", operation)
    counted.refused += 1
  }
  for (const path of ["", "/events", "/tlog/checkpoint", "/projects"]) {
    const reply = await service.root.get(`${changeable.workspace.path}${path}`)
    assert.deepEqual([reply.status, stateOf(reply)], [200, "read-only"], `${path}: ${reply.text}`)
  }
  assert.deepEqual(await sizes(), before, "what was refused was recorded")
}

// Copies --------------------------------------------------------------------------------------------------------------------------------------------------

async function backUp({ data, counted }: Scene, target: string): Promise<void> {
  const ran = await tallystick(data, "backup", target)
  assert.deepEqual([ran.code, ran.errors], [0, ""], ran.output)
  counted.backups += 1
}

/** A proof has the service sign all that there is. */
async function sign(service: Service, workspaces: readonly Workspace[], writes: readonly Write[]): Promise<void> {
  for (const { id, path, reader } of workspaces) {
    const last = writes.findLast(({ workspaceId }) => workspaceId === id)
    assert.ok(last !== undefined, "each workspace is written to")
    const proof = await service.client(reader.bearer).get(`${path}/receipts/${mintedBy(last).receipt}/proof`)
    assert.equal(proof.status, 200, proof.text)
  }
}

/** Computed again from the copy's own file. */
async function expectInCopy(copy: string, workspaces: readonly Workspace[], writes: readonly Write[]): Promise<void> {
  assert.equal(markOf(copy), true)
  for (const { id } of workspaces) {
    const kept = new Set((await expectKept(copy, id)).hashes)
    for (const write of writes.filter(({ workspaceId }) => workspaceId === id))
      assert.ok(kept.has(mintedBy(write).eventHash), `${write.key} was acknowledged before the copy was begun, and is not in it`)
  }
}

async function putInPlace(copy: string, data: string): Promise<void> {
  await rm(data, { recursive: true, force: true })
  await cp(copy, data, { recursive: true })
}

/** As the file's header says it. */
function markOf(folder: string): boolean {
  using journal = new DatabaseSync(join(folder, "journal.db"), { readOnly: true })
  return journal.prepare("PRAGMA application_id").get()?.["application_id"] === 0x636f7079
}

interface Ran {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

const program = join(import.meta.dirname, "..", "..", "packages", "server", "src", "main.ts")

function tallystick(data: string, ...args: readonly string[]): Promise<Ran> {
  const environment = { PATH: process.env["PATH"], TALLYSTICK_DATA: data }
  const child = spawn(process.execPath, [program, ...args], { env: environment, stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 })
  const said = { output: "", errors: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.output += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.errors += text))
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...said })))
}

// Writing -------------------------------------------------------------------------------------------------------------------------------------------------

const writers = 4
/** Between two writes of one writer: there is to be load, and not more of it than can be looked at. */
const restMs = 4

interface Load {
  until(enough: () => boolean): Promise<void>
  stop(): Promise<void>
}

function startLoad(service: Service, workspaces: readonly Workspace[], writes: Write[], chance: Chance): Load {
  let going = true
  const write = async (): Promise<void> => {
    while (going) {
      await record(service, workspaces, eventWrite(chance.pick(workspaces).id, `write-${writes.length}-under-load`, chance), writes)
      await sleep(restMs)
    }
  }
  const all = Promise.all(Array.from({ length: writers }, write))
  return {
    async until(enough) {
      const endMs = performance.now() + 20_000
      while (!enough()) {
        assert.ok(performance.now() < endMs, "too little was written")
        await Promise.race([all, sleep(2)])
      }
    },
    async stop() {
      going = false
      await all
    },
  }
}

async function record(service: Service, workspaces: readonly Workspace[], write: Write, writes: Write[]): Promise<void> {
  writes.push(write)
  const workspace = workspaces.find(({ id }) => id === write.workspaceId)
  note([write], (await sendUntilKnown(service.client(workspace?.writer.bearer), [write])).reply)
}

function mintedBy({ key, receipt }: Write): { readonly receipt: string; readonly eventHash: string; readonly previousHash: string } {
  assert.ok(receipt !== undefined, `${key} was never acknowledged`)
  return JSON.parse(receipt)
}

function idAt(workspaces: readonly Workspace[], place: number): string {
  return workspaces[place]?.id ?? ""
}

function someOf<T>(all: readonly T[], count: number, chance: Chance): readonly T[] {
  return all.length <= count ? all : Array.from({ length: count }, () => chance.pick(all))
}
