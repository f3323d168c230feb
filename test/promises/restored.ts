import assert from "node:assert/strict"
import { cp, readFile, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { verifyReceipt } from "@tallystick/proof"
import { expectChain, readChain } from "../chain.ts"
import type { Fault } from "../crash/faults.ts"
import { startProgram } from "../crash/programs.ts"
import { program, tallystick as runCommand, type Ended } from "../program.ts"
import { logKeyOf, makeWorkspace, type Reply, type Service, type Workspace } from "../service.ts"
import { audit } from "./audit.ts"
import type { Chance } from "../chance.ts"
import { expectStoredChain } from "./stored-chain.ts"
import { makeChangeable, changingRequests, type Changeable } from "./changing-requests.ts"
import { eventWrite, note, sendUntilKnown, type Write } from "./writes.ts"

// A ledger is copied under load and restored from the copy: the copy must have every entry
// acknowledged before, and be read-only. A complete copy continues the same history. Any other
// continues as another ledger that names its origin, and lost entries are reported as lost.

export interface RestoreOptions {
  readonly rounds: number
  readonly chance: Chance
  /** The program that serves the restored copies. */
  readonly fault?: Fault
  /** Program that resumes a copy, in place of the product. */
  readonly resumeProgram?: string
}

export interface Restored {
  backups: number
  /**
   * Writes that were acknowledged before, during and after a copy. The copy cannot have the last
   * ones.
   */
  before: number
  during: number
  lost: number
  /** Requests that a read-only service refused. */
  refused: number
  /** Receipts that a restored copy proved. */
  proved: number
  /** Receipts of lost entries that were reported as lost. */
  foundLost: number
  /**
   * Copies that continued unchanged; epochs that the others opened; and how many of these
   * workspaces had opened one before.
   */
  resumed: number
  epochs: number
  laterEpochs: number
  /** Entries that were computed again at the end, from the served log. */
  entries: number
}

export async function restoreAgainAndAgain({
  rounds,
  ...options
}: RestoreOptions): Promise<Restored> {
  const nothing = {
    before: 0,
    during: 0,
    lost: 0,
    refused: 0,
    proved: 0,
    foundLost: 0,
    resumed: 0,
    epochs: 0,
    laterEpochs: 0,
    entries: 0,
  }
  const counted: Restored = { backups: 0, ...nothing }
  for (let round = 0; round < rounds; round++) await restoreOnce(options, counted, round % 5 === 0)
  return counted
}

interface Scene {
  readonly data: string
  readonly workspaces: readonly Workspace[]
  readonly changeable: Changeable
  readonly writes: Write[]
  readonly chance: Chance
  readonly fault: Fault | undefined
  readonly resumeProgram: string
  readonly counted: Restored
}

async function restoreOnce(
  { chance, fault, resumeProgram = program }: Omit<RestoreOptions, "rounds">,
  counted: Restored,
  isLong: boolean,
): Promise<void> {
  await using original = await startProgram()
  const { data } = original
  const workspaces = [await makeWorkspace(original), await makeWorkspace(original)]
  const changeable = await makeChangeable(original, await makeWorkspace(original))
  const writes: Write[] = []
  const scene: Scene = {
    data,
    workspaces,
    changeable,
    writes,
    chance,
    fault,
    resumeProgram,
    counted,
  }
  const [early, late] = ["early", "late"].map((name) => join(dirname(data), name)) as [
    string,
    string,
  ]

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
  const after = [
    eventWrite(idAt(workspaces, 0), "after-the-copy-0", chance),
    eventWrite(idAt(workspaces, 1), "after-the-copy-1", chance),
  ]
  for (const write of after) await record(original, workspaces, write, writes)
  const answers = await answersOf(original, workspaces, after)
  assert.equal(await original.end(), 0)
  await backUp(scene, late)

  const aside = `${data}-aside`
  await rename(data, aside)
  const heads = await readFile(`${data}.heads`, "utf8")
  await expectBehind(scene, early)
  await expectContinued(scene, early, answers, isLong)
  if (isLong) await expectWithoutHeads(scene, late)
  await writeFile(`${data}.heads`, heads)
  await expectResumed(scene, late)
}

/** A copy without signed entries: it can be read, and proves what it has. */
async function expectBehind(scene: Scene, copy: string): Promise<void> {
  const { data, workspaces, writes, chance, counted } = scene
  await putInPlace(copy, data)
  {
    await using service = await startProgram({ data }, scene.fault)
    await expectReadOnly(service, scene, /ends at entry \d+, and \d+ were signed/)
    for (const { id, path, reader } of workspaces) {
      const client = service.client(reader.bearer)
      const kept = new Set((await expectStoredChain(data, id)).hashes)
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
      // For a receipt of a lost entry, only its absence can be known.
      for (const { receipt } of someOf(lost, 10, chance))
        assert.equal((await client.get(`${path}/receipts/${receipt}`)).status, 404)
      const found = await client.get(`${path}/events?limit=1`)
      assert.equal(found.json().total, here.length, "a copy finds what it has")
      counted.proved += some.length
      counted.lost += lost.length
    }
    assert.equal(await service.end(), 0)
  }
}

/**
 * The copy continues as another ledger. In a long round that ledger is also restored from a copy,
 * so a third one continues it.
 */
async function expectContinued(
  scene: Scene,
  early: string,
  answers: readonly Answer[],
  isLong: boolean,
): Promise<void> {
  const { data, workspaces, writes, chance, counted } = scene
  await putInPlace(early, data)
  const second = `${early}-of-the-second`
  const here = [...(await keptOf(data, scene))]
  const signed = await headsOf(data)
  {
    await expectEpochs(scene, 2, /ends at entry \d+, and \d+ were signed/)
    await using service = await startProgram({ data })
    for (const { id } of workspaces)
      await record(service, workspaces, eventWrite(id, `in-the-second-epoch-${id}`, chance), here)
    await expectChains(service, scene, here)
    await expectNothingSigned(data, signed)
    await expectLost(service, scene, answers)
    if (isLong) await backUp(scene, second)
    // The idempotency key of a lost entry is unused.
    for (const { workspaceId, key } of writes.slice(-2))
      await record(service, workspaces, eventWrite(workspaceId, key, chance), [])
    assert.equal(await service.end(), 0)
    await expectWhole(data)
  }
  if (!isLong) return
  const again = await headsOf(data)
  await putInPlace(second, data)
  await expectEpochs(scene, 3, /ends at entry \d+, and \d+ were signed/)
  await using service = await startProgram({ data })
  for (const { id } of workspaces)
    await record(service, workspaces, eventWrite(id, `in-the-third-epoch-${id}`, chance), here)
  await expectChains(service, scene, here)
  await expectNothingSigned(data, again)
  await expectLost(service, scene, answers)
  counted.laterEpochs += workspaces.length
  assert.equal(await service.end(), 0)
  await expectWhole(data)
}

/** Every kept and every later write is there, verifies, and is replayed. */
async function expectChains(
  service: Service,
  { workspaces, chance, counted }: Scene,
  writes: readonly Write[],
): Promise<void> {
  const audited = await audit(service, {
    workspaces,
    writes,
    lookUpsMax: 20,
    replaysMax: 50,
    chance,
  })
  counted.entries += audited.entries
}

/** Derives everything again, while the service is stopped. */
async function expectWhole(data: string): Promise<void> {
  const ran = await tallystick(data, "fsck")
  assert.deepEqual([ran.code, ran.errors], [0, ""], ran.output)
}

/** A copy for which the last signed head is unknown. */
async function expectWithoutHeads(scene: Scene, copy: string): Promise<void> {
  const { data } = scene
  await putInPlace(copy, data)
  await writeFile(`${data}.heads`, "")
  await expectEpochs(scene, 2, /the heads file does not list workspace/)
  await expectWhole(data)
}

/**
 * A complete copy is read-only too, until it is resumed; then it continues where the original
 * ended.
 */
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
  assert.match(ran.output, /it continues in the same epoch/)
  assert.equal(markOf(data), false)
  counted.resumed += 1

  await using service = await startProgram({ data })
  assert.equal((await service.client().get("/readyz")).status, 200)
  for (const { id } of workspaces)
    await record(service, workspaces, eventWrite(id, `after-it-was-resumed-${id}`, chance), writes)
  await expectChains(service, scene, writes)
  assert.equal(await service.end(), 0)
}

/**
 * Every workspace of a copy continues in this epoch, with a reason, and counts as a ledger again.
 */
async function expectEpochs(
  { data, resumeProgram, counted }: Scene,
  epoch: number,
  reason: RegExp,
): Promise<void> {
  // A check takes as long as the resume itself, so only rounds that continue twice have one.
  const looked =
    epoch > 2 ? await tallystick(data, "resume", ["--check", "--json"], resumeProgram) : undefined
  assert.equal(markOf(data), true, "a look has changed something")
  const ran = await tallystick(data, "resume", ["--json"], resumeProgram)
  assert.deepEqual([looked?.code ?? 0, ran.code], [0, 0], `${looked?.errors}${ran.errors}`)
  assert.equal(markOf(data), false)
  if (resumeProgram !== program) return
  const { workspaces } = JSON.parse(ran.output)
  const without = (all: readonly Record<string, unknown>[]) =>
    all.map(({ origin: _, ...rest }) => rest)
  const planned = looked === undefined ? workspaces : JSON.parse(looked.output).workspaces
  assert.deepEqual(without(planned), without(workspaces), "what was planned is not what was done")
  const opened = workspaces.filter((one: { because?: string }) => reason.test(one.because ?? ""))
  // Workspaces that nobody wrote to since miss nothing: the instance's own, and the one with
  // existing things to change.
  assert.ok(opened.length >= 2, ran.output)
  for (const one of opened) assert.equal(one.epoch, epoch, ran.output)
  counted.epochs += opened.length
}

/** Nothing is signed again under the name of a ledger that lost its end. */
async function expectNothingSigned(
  data: string,
  before: ReadonlyMap<string, string>,
): Promise<void> {
  const after = await headsOf(data)
  for (const [origin, head] of before)
    assert.equal(after.get(origin), head, `${origin} was signed again, from an older state`)
  assert.ok(after.size > before.size, "nothing was signed under a new name")
}

/** The origins of the workspaces under load, and the last signed head of each. */
async function headsOf(data: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(`${data}.heads`, "utf8")).trimEnd().split("\n")
  const all = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]),
  )
  return new Map([...all].filter(([origin]) => endedIn(data).has(origin)))
}

/** The ledgers whose last entries the copy lacks. */
function endedIn(data: string): ReadonlySet<string> {
  using journal = new DatabaseSync(join(data, "journal.db"), { readOnly: true })
  const rows = journal.prepare("SELECT value FROM documents WHERE kind = 'workspace'").all()
  const values = rows.map(
    ({ value }) => JSON.parse(String(value)) as { origin: string; former?: { origin: string }[] },
  ) // as the registry keeps them
  return new Set(
    values.flatMap(({ origin, former = [] }) => [origin, ...former.map((one) => one.origin)]),
  )
}

interface Answer {
  readonly workspace: Workspace
  readonly receipt: string
  readonly vkey: string
  readonly text: string
}

/** Evidence that clients keep. */
async function answersOf(
  service: Service,
  workspaces: readonly Workspace[],
  writes: readonly Write[],
): Promise<readonly Answer[]> {
  await sign(service, workspaces, writes)
  return await Promise.all(
    writes.map(async (write) => {
      const workspace = workspaces.find(({ id }) => id === write.workspaceId)
      assert.ok(workspace !== undefined)
      const { receipt } = mintedBy(write)
      const client = service.client(workspace.reader.bearer)
      const vkey = await logKeyOf(client, workspace.path)
      const { text } = await client.get(`${workspace.path}/receipts/${receipt}`)
      assert.equal(
        verifyReceipt(JSON.parse(text), { trustedKeys: [vkey] }).verdict,
        "genuine",
        text,
      )
      return { workspace, receipt, vkey, text }
    }),
  )
}

/** The service has no such receipt, and its holder can find out why. */
async function expectLost(
  service: Service,
  { data, counted }: Scene,
  answers: readonly Answer[],
): Promise<void> {
  for (const { workspace, receipt, vkey, text } of answers) {
    const client = service.client(workspace.reader.bearer)
    assert.equal((await client.get(`${workspace.path}/receipts/${receipt}`)).status, 404)
    const epochs = await client.get(`${workspace.path}/tlog/epochs`)
    const geneses = epochs
      .json<{ epochs: { genesis: string }[] }>()
      .epochs.map(({ genesis }) => genesis)
    const verdict = verifyReceipt(JSON.parse(text), {
      trustedKeys: [vkey],
      geneses: geneses.toReversed(),
    })
    assert.ok(verdict.verdict === "refuted" && verdict.failure === "lost", JSON.stringify(verdict))
    counted.foundLost += 1
  }
  const [{ workspace, text }] = answers as [Answer]
  const [answerFile, epochsFile] = ["answer.json", "epochs.json"].map((name) =>
    join(dirname(data), name),
  ) as [string, string]
  await writeFile(answerFile, text)
  await writeFile(
    epochsFile,
    (await service.client(workspace.reader.bearer).get(`${workspace.path}/tlog/epochs`)).text,
  )
  const ran = await tallystick(data, "verify", [answerFile, "--epochs", epochsFile])
  assert.equal(ran.code, 3, ran.output + ran.errors)
  assert.match(ran.output, /it was recorded and is lost/)
}

/**
 * The copy reports everywhere that it is read-only, refuses every change, and has changed nothing.
 */
async function expectReadOnly(
  service: Service,
  { changeable, workspaces, counted }: Scene,
  reason: RegExp,
): Promise<void> {
  const stateOf = ({ headers }: Reply) => headers.get("ledger-state")
  const ready = await service.client().get("/readyz")
  assert.deepEqual(
    [ready.status, stateOf(ready)],
    [503, "read-only"],
    "a restored copy takes itself for the ledger",
  )
  assert.match(ready.json().reason, reason)
  const all = [...workspaces, changeable.workspace]
  const sizes = () =>
    Promise.all(all.map(async ({ id }) => (await expectStoredChain(service.data, id)).size))
  const before = await sizes()
  for (const { operation, ask } of await changingRequests(service, changeable)) {
    const reply = await ask()
    assert.deepEqual(
      [reply.status, stateOf(reply)],
      [503, "read-only"],
      `${operation} was not refused: ${reply.text}`,
    )
    assert.equal(reply.json().error, "read_only", operation)
    counted.refused += 1
  }
  for (const path of ["", "/events", "/tlog/checkpoint", "/projects"]) {
    const reply = await service.root.get(`${changeable.workspace.path}${path}`)
    assert.deepEqual([reply.status, stateOf(reply)], [200, "read-only"], `${path}: ${reply.text}`)
  }
  const preview = await service.root.post(`${changeable.workspace.path}/retention/preview`, {})
  assert.deepEqual([preview.status, stateOf(preview)], [200, "read-only"], preview.text)
  assert.deepEqual(await sizes(), before, "what was refused was recorded")
}

// Copies ------------------------------------------------------------------------------------------

async function backUp({ data, counted }: Scene, target: string): Promise<void> {
  const ran = await tallystick(data, "backup", [target])
  assert.deepEqual([ran.code, ran.errors], [0, ""], ran.output)
  counted.backups += 1
}

/** The writes that a copy contains. */
async function keptOf(folder: string, { workspaces, writes }: Scene): Promise<readonly Write[]> {
  const hashes = await Promise.all(
    workspaces.map(async ({ id }) => (await expectStoredChain(folder, id)).hashes),
  )
  const kept = new Set(hashes.flat())
  return writes.filter((write) => kept.has(mintedBy(write).eventHash))
}

/** A proof has the service sign all that there is. */
async function sign(
  service: Service,
  workspaces: readonly Workspace[],
  writes: readonly Write[],
): Promise<void> {
  for (const { id, path, reader } of workspaces) {
    const last = writes.findLast(({ workspaceId }) => workspaceId === id)
    assert.ok(last !== undefined, "each workspace is written to")
    const proof = await service
      .client(reader.bearer)
      .get(`${path}/receipts/${mintedBy(last).receipt}/proof`)
    assert.equal(proof.status, 200, proof.text)
  }
}

/** Computed again from the copy's own file. */
async function expectInCopy(
  copy: string,
  workspaces: readonly Workspace[],
  writes: readonly Write[],
): Promise<void> {
  assert.equal(markOf(copy), true)
  for (const { id } of workspaces) {
    const kept = new Set((await expectStoredChain(copy, id)).hashes)
    for (const write of writes.filter(({ workspaceId }) => workspaceId === id))
      assert.ok(
        kept.has(mintedBy(write).eventHash),
        `${write.key} was acknowledged before the copy was begun, and is not in it`,
      )
  }
}

async function putInPlace(copy: string, data: string): Promise<void> {
  await rm(data, { recursive: true, force: true })
  await cp(copy, data, { recursive: true })
}

/** From the file's header. */
function markOf(folder: string): boolean {
  using journal = new DatabaseSync(join(folder, "journal.db"), { readOnly: true })
  return journal.prepare("PRAGMA application_id").get()?.["application_id"] === 0x636f7079
}

function tallystick(
  data: string,
  command: string,
  args: readonly string[] = [],
  by?: string,
): Promise<Ended> {
  return runCommand([command, ...args], { TALLYSTICK_DATA: data }, { ...(by && { by }) })
}

// Writing -----------------------------------------------------------------------------------------

const writers = 4
/** Pause between two writes of one writer: enough load, but not more than can be checked. */
const restMs = 4

interface Load {
  until(enough: () => boolean): Promise<void>
  stop(): Promise<void>
}

function startLoad(
  service: Service,
  workspaces: readonly Workspace[],
  writes: Write[],
  chance: Chance,
): Load {
  let going = true
  const write = async (): Promise<void> => {
    while (going) {
      await record(
        service,
        workspaces,
        eventWrite(chance.pick(workspaces).id, `write-${writes.length}-under-load`, chance),
        writes,
      )
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

async function record(
  service: Service,
  workspaces: readonly Workspace[],
  write: Write,
  writes: Write[],
): Promise<void> {
  writes.push(write)
  const workspace = workspaces.find(({ id }) => id === write.workspaceId)
  note([write], (await sendUntilKnown(service.client(workspace?.writer.bearer), [write])).reply)
}

function mintedBy({ key, receipt }: Write): {
  readonly receipt: string
  readonly eventHash: string
  readonly previousHash: string
} {
  assert.ok(receipt !== undefined, `${key} was never acknowledged`)
  return JSON.parse(receipt)
}

function idAt(workspaces: readonly Workspace[], place: number): string {
  return workspaces[place]?.id ?? ""
}

function someOf<T>(all: readonly T[], count: number, chance: Chance): readonly T[] {
  return all.length <= count ? all : Array.from({ length: count }, () => chance.pick(all))
}
