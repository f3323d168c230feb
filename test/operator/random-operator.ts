import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { cp, mkdtempDisposable, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Chance } from "../chance.ts"
import type { Fault } from "../crash/faults.ts"
import { makeDisk, noDisk } from "../crash/disks.ts"
import { setUpFirst } from "../people.ts"
import { filesWith } from "../personal-files.ts"
import type { PostgresServer } from "../postgres-server.ts"
import { startS3Server } from "../s3-server.ts"
import { eventually, make, unlessCut, type Service } from "../service.ts"
import { expectHandedOut, makeCredential, makePack, revokeCredential } from "./handed-out.ts"
import {
  changeRulesBesideExpiry,
  eraseBesideReaders,
  holdBesideErasure,
} from "./at-the-same-time.ts"
import { expectConsents, publishPolicy, recordConsents } from "./consents-and-policies.ts"
import { expectEvidence, exportEntries } from "./exports.ts"
import { objectsWith, useFailingArchive } from "./failing-archive.ts"
import { diskMegabytes, fillDisk } from "./full-disk.ts"
import { erasePerson, goneTexts, placeHold, releaseHold, restored } from "./holds-and-erasures.ts"
import {
  expectModel,
  expectWholeModel,
  isHeld,
  isThere,
  newPerson,
  namedActions,
  type ModelEntry,
} from "./ledger-model.ts"
import { expectKept, exportLog, fsckWithCheckpoints, keepReceipt } from "./kept-elsewhere.ts"
import { changeMember, inviteMember } from "./members-and-sessions.ts"
import {
  answered,
  command,
  commandOnce,
  dayMs,
  expired,
  moveTo,
  newPlace,
  nowOf,
  sendSome,
  signed,
  started,
  stopped,
  synced,
  type OperatedLedger,
} from "./operated-ledger.ts"

// An operator who runs random commands against one ledger, and kills some of them: the ledger and
// what it serves stay as the model says. Clients write meanwhile, and repeat what was not answered.

export interface OperatorOptions {
  readonly steps: number
  readonly chance: Chance
  /** Has the other places of the ledger; without it, all are folders. */
  readonly postgres?: PostgresServer
  /** The program that serves, in place of the product. */
  readonly fault?: Fault
  /** Is told each step, before it is made. */
  readonly see?: (step: string) => void
}

interface Scene extends OperatedLedger {
  readonly see: OperatorOptions["see"]
  readonly postgres: PostgresServer | undefined
}

const consentsSampled = 4

export async function operateAtRandom(options: OperatorOptions): Promise<void> {
  const { steps: count, chance, postgres, fault, see } = options
  using disk = noDisk("ext4") === undefined ? makeDisk("ext4", diskMegabytes) : undefined
  const place = disk?.path ?? tmpdir()
  await using folder = await mkdtempDisposable(join(place, "tallystick-operator-"))
  await using bucket = chance.percent(50) ? await startS3Server({ skewMaxMs: Infinity }) : null
  const scene: Scene = {
    see,
    chance,
    postgres,
    fault,
    folder: folder.path,
    disk,
    bucket: bucket ?? undefined,
    data: join(folder.path, "data"),
    database: undefined,
    service: undefined,
    day: 0,
    model: {
      workspaces: ["acme", "ACME"],
      entries: [],
      holds: [],
      held: [],
      packs: [],
      credentials: [],
      members: [],
      policies: {},
    },
    pending: [],
    people: Array.from({ length: 8 }, newPerson),
    erased: new Map(),
    gone: [],
    kept: [],
    done: new Set(),
    backups: [],
    places: 0,
  }
  try {
    const service = await started(scene)
    await setUpFirst(service)
    await makeWorkspace(service, "acme", 0)
    await makeWorkspace(service, "ACME", 30)
    await steps.write(scene)
    for (let step = 0; step < count; step++) {
      const name = pickStep(scene)
      see?.(`${step}: ${name}, ${scene.database === undefined ? "in a folder" : "in a database"}`)
      await steps[name](scene)
      await expectModel(await started(scene), scene.model, chance)
      await expectHandedOut(scene)
      await expectKept(scene)
      for (let at = 0; at < consentsSampled; at++) await expectConsents(await started(scene), scene)
      if (step % 4 === 3) await expectAll(scene)
    }
    await expectAll(scene)
    await expectEvidence(scene)
    await stopped(scene)
    await command(scene, ["fsck"])
    await command(scene, ["archive", "verify"])
  } finally {
    await scene.service?.end("SIGKILL")
  }
}

async function makeWorkspace({ root }: Service, id: string, hotDays: number): Promise<void> {
  await make(root, "/v1/workspaces", { id, name: "Acme", hotDays })
  await root.patch(`/v1/workspaces/${id}/projects/core`, { activityLinks: true })
}

async function expectAll(scene: Scene): Promise<void> {
  const { model, chance } = scene
  const service = await started(scene)
  await expectWholeModel(service, model, chance)
  const gone = goneTexts(scene)
  if (gone.length === 0) return
  await eventually(
    "texts of the erased to be in no file",
    async () =>
      (await filesWith(scene.data, gone)).length === 0 &&
      (await objectsWith(scene, gone)).length === 0,
  )
}

// Steps -------------------------------------------------------------------------------------------

/** What is stopped for a command that works on the data alone. */
const alone = (...args: readonly string[]) =>
  async function runAlone(scene: Scene): Promise<void> {
    await stopped(scene)
    await command(scene, args)
  }

const steps = {
  write: async (scene) => {
    const service = await started(scene)
    await answered(scene, sendSome(scene, service))
  },
  "write, and kill the service": async (scene) => {
    const service = await started(scene)
    const sending = sendSome(scene, service)
    await sleep(scene.chance.below(60))
    await stopped(scene, "SIGKILL")
    await answered(scene, sending)
  },
  "let days pass": async (scene) => {
    await stopped(scene)
    scene.day += scene.chance.pick([1, 2, 40, -1])
  },
  "erase a person": (scene) => erasePerson(scene),
  "place a hold": placeHold,
  "release a hold": releaseHold,
  "make a pack": makePack,
  "keep a receipt": keepReceipt,
  "export a log": exportLog,
  "make a credential": makeCredential,
  "revoke a credential": revokeCredential,
  "expire contents": expireContents,
  "record consents": recordConsents,
  "publish a policy": (scene) => publishPolicy(scene),
  "invite a member": inviteMember,
  "change a member": changeMember,
  "export entries": exportEntries,
  "erase beside readers": eraseBesideReaders,
  "hold beside an erasure": holdBesideErasure,
  "change rules beside expiry": changeRulesBesideExpiry,
  "make a workspace": async (scene) => {
    const { model, chance } = scene
    // After a restore to before, with the same name again.
    const id = ["late", "later"].find((one) => !model.workspaces.includes(one))
    if (id === undefined) return
    await makeWorkspace(await started(scene), id, chance.pick([0, 30]))
    model.workspaces = [...model.workspaces, id]
  },
  "fill the disk": fillDisk,
  "use a failing archive": useFailingArchive,
  backup,
  restore,
  copy,
  "archive now": async (scene) => {
    await signed(scene)
    await alone("archive", "now")(scene)
  },
  "archive restore": alone("archive", "restore"),
  "archive verify": alone("archive", "verify"),
  compact: alone("compact"),
  reindex: alone("reindex"),
  fsck: fsckWithCheckpoints,
  "rotate the secret": alone("secret", "rotate"),
  "rotate the instance key": alone("root-key", "rotate"),
  "rotate a signing key": async (scene) => {
    await started(scene)
    const ended = await commandOnce(scene, ["rotate", scene.chance.pick(scene.model.workspaces)])
    assert.equal(ended.code, 0, ended.errors)
  },
  "delete what is derived": async (scene) => {
    await stopped(scene)
    for (const base of ["index.db", "search.db"])
      for (const end of ["", "-wal", "-shm"])
        await rm(join(scene.data, base + end), { force: true })
  },
  "commands beside a service": async (scene) => {
    await started(scene)
    const args = scene.chance.pick([["fsck"], ["reindex"], ["resume"], ["archive", "restore"]])
    const refused = await commandOnce(scene, args)
    assert.equal(refused.code, 1, `${args.join(" ")}: ${refused.output}`)
    assert.match(refused.errors, /another tallystick is using|a service is connected/)
  },
} satisfies Record<string, (scene: Scene) => Promise<void>>

/** Steps that need files of SQLite. */
const inFolders: readonly string[] = ["backup", "restore", "compact", "delete what is derived"]
const often: readonly string[] = [
  "write",
  "write",
  "copy",
  "backup",
  "restore",
  "restore",
  "erase a person",
  "make a pack",
  "keep a receipt",
  "keep a receipt",
  "export a log",
  "make a credential",
  "make a credential",
  "record consents",
  "record consents",
  "invite a member",
  "change a member",
  "change a member",
]

function pickStep({ chance, database, backups, model, disk }: Scene): keyof typeof steps {
  for (;;) {
    const name = chance.pick([...Object.keys(steps), ...often]) as keyof typeof steps
    if (database !== undefined && inFolders.includes(name)) continue
    if (name === "release a hold" && model.holds.length === 0) continue
    if (name === "revoke a credential" && model.credentials.length === 0) continue
    if (name === "change a member" && model.members.length === 0) continue
    if (name === "fill the disk" && disk === undefined) continue
    if (name !== "restore" || backups.length > 0) return name
  }
}

async function expireContents(scene: Scene): Promise<void> {
  const { chance, model } = scene
  const { root } = await signed(scene)
  const workspace = chance.pick(model.workspaces)
  const path = `/v1/workspaces/${workspace}`
  const [action, days] = [chance.pick(namedActions), chance.pick([1, 3, 30])]
  const retention = [{ action, days }]
  const preview = await root.post(`${path}/retention/preview`, { retention })
  const set = await root.patch(path, { retention, confirm: preview.json().token })
  assert.equal(set.status, 200, set.text)
  const today = Math.floor(nowOf(scene) / dayMs)
  const [due = [], held = []] = [false, true].map((isUnderHold) =>
    model.entries.filter(
      (entry) =>
        entry.workspace === workspace &&
        entry.event.action === action &&
        isThere(entry) &&
        isHeld(model, entry) === isUnderHold &&
        Date.parse(entry.receipt.timestamp) < (today - days) * dayMs,
    ),
  )
  const counts = preview.json()
  assert.deepEqual([counts.entries, counts.held], [due.length, held.length], "preview")
  if (chance.percent(30)) {
    const running = unlessCut(root.post(`${path}/retention/run`, {}))
    await sleep(chance.below(120))
    await stopped(scene, "SIGKILL")
    await running
    await started(scene)
  }
  await expired(scene, workspace)
  for (const entry of due) entry.content = "expired"
  const off = await (await started(scene)).root.patch(path, { retention: [] })
  assert.equal(off.status, 200, off.text)
}

async function backup(scene: Scene): Promise<void> {
  const { chance, folder } = scene
  await started(scene)
  if (chance.percent(30)) await stopped(scene)
  const target = join(folder, `backup-${scene.places++}`)
  if (chance.percent(30)) {
    await commandOnce(scene, ["backup", target], 100 + chance.below(1500))
    for (const name of await readdir(folder))
      if (join(folder, name).startsWith(target)) await rm(join(folder, name), { recursive: true })
  }
  const model = structuredClone(scene.model)
  const objects = new Map(scene.bucket?.objects)
  const sending = scene.service === undefined ? [] : sendSome(scene, scene.service)
  const ended = await commandOnce(scene, ["backup", target])
  assert.equal(ended.code, 0, ended.errors)
  await answered(scene, sending)
  // Clients repeat what was not answered, and the copy may have it.
  await started(scene)
  const sent = new Set(sending.flatMap(({ writes }) => writes.map(({ key }) => key)))
  const meanwhile = scene.model.entries.filter(({ key }) => sent.has(key))
  for (const [name, bytes] of scene.bucket?.objects ?? []) objects.set(name, bytes)
  scene.backups.push({ folder: target, model, meanwhile, objects })
}

/** The ledger is lost but for its heads and erasures files, and goes on from a backup. */
async function restore(scene: Scene): Promise<void> {
  const { chance, data, model } = scene
  await started(scene)
  await stopped(scene)
  const copy = chance.pick(scene.backups)
  const place = await newPlace(scene)
  // Some are put back again later.
  if (chance.percent(50)) await cp(copy.folder, place, { recursive: true })
  else {
    scene.backups = scene.backups.filter((one) => one !== copy)
    await rename(copy.folder, place)
  }
  await cp(`${data}.heads`, `${place}.heads`)
  // An operator who has lost it, too, makes an empty one.
  if (chance.percent(20)) await writeFile(`${place}.heads`, "")
  await moveTo(scene, place)
  scene.bucket?.objects.clear()
  for (const [name, bytes] of copy.objects) scene.bucket?.objects.set(name, bytes)
  const { errors } = await command(scene, ["resume"])
  await giveUp(scene, errors)
  await command(scene, ["fsck"])
  scene.model = structuredClone(copy.model)
  await addMeanwhile(scene, copy.meanwhile)
  await restored(scene, model)
  // Clients repeat some of what was lost, but for that of the erased.
  const kept = new Set(scene.model.entries.map(({ key }) => key))
  const lost = model.entries.filter(
    ({ workspace, key, person, target = person }) =>
      !kept.has(key) &&
      scene.model.workspaces.includes(workspace) &&
      [person, target].every(({ id }) => scene.people.some((one) => one.id === id)),
  )
  for (const { receipt, content, isTargetNameless, ...write } of lost.slice(0, 10))
    scene.pending.push([write])
}

/** What the copy has of that which was written while it was made. */
async function addMeanwhile(scene: Scene, entries: readonly ModelEntry[]): Promise<void> {
  for (const entry of entries) {
    const { root } = await started(scene)
    const { workspace, receipt } = entry
    const reply = await root.get(`/v1/workspaces/${workspace}/receipts/${receipt.receipt}`)
    assert.ok(reply.status === 200 || reply.status === 404, reply.text)
    if (reply.status !== 200) continue
    scene.model.entries.push({ ...entry, content: "whole", isTargetNameless: false })
  }
}

/** Removes lines as the command asks: of an epoch that a later restore has begun, and that is lost. */
async function giveUp(scene: Scene, errors: string): Promise<void> {
  const heads = `${scene.data}.heads`
  const lost = [...errors.matchAll(/also lists (\S+), which/g)].map(([, origin]) => `${origin} `)
  const lines = (await readFile(heads, "utf8")).split("\n")
  const kept = lines.filter((line) => !lost.some((origin) => line.startsWith(origin)))
  await writeFile(heads, kept.join("\n"))
  await synced(scene)
}

/** Into a database and back, or into another folder. */
async function copy(scene: Scene): Promise<void> {
  const { data, database, postgres } = scene
  await signed(scene)
  await stopped(scene)
  if (database === undefined && postgres !== undefined) {
    const target = await postgres.createDatabase()
    await command(scene, ["copy", "--from", data, "--to", target])
    for (const name of await readdir(data)) if (/\.db(-|$)/.test(name)) await rm(join(data, name))
    await synced(scene)
    scene.database = target
    return
  }
  const place = await newPlace(scene)
  if (existsSync(join(data, "archive")))
    await cp(join(data, "archive"), join(place, "archive"), { recursive: true })
  await synced(scene)
  await command(scene, ["copy", "--from", database ?? data, "--to", place])
  scene.database = undefined
  await moveTo(scene, place)
}
