import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { cp, mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Chance } from "../chance.ts"
import type { Disk } from "../crash/disks.ts"
import type { Fault } from "../crash/faults.ts"
import { engineSettings, shareDatabase } from "../engine.ts"
import { faultyProgram, run, tallystick, type Ended } from "../program.ts"
import { archiveSettings, type S3Server } from "../s3-server.ts"
import { clockAhead, eventually, startService, unlessCut, type Service } from "../service.ts"
import type { Kept } from "./kept-elsewhere.ts"
import {
  add,
  newPerson,
  newWrite,
  send,
  type Erased,
  type Model,
  type ModelEntry,
  type Person,
  type Write,
} from "./ledger-model.ts"

// A ledger with its operator: where it lies, what it must say, its service and its commands.

interface Backup {
  readonly folder: string
  /** As it was at its begin. */
  readonly model: Model
  /** What was written meanwhile, and may be in it. */
  readonly meanwhile: readonly ModelEntry[]
  /** What the storage of the archive keeps for it. */
  readonly objects: ReadonlyMap<string, Buffer>
}

export interface OperatedLedger {
  readonly chance: Chance
  /** The program that serves, in place of the product. */
  readonly fault: Fault | undefined
  readonly folder: string
  /** Has the archive; without it, the archive is in the folder. */
  readonly bucket: S3Server | undefined
  /** Where the folder is; absent where none can be mounted. */
  readonly disk: Disk | undefined
  /** Where the ledger is now. With a database, the folder has the archive and the secrets. */
  data: string
  database: string | undefined
  service: Service | undefined
  /** Days by which the clock is ahead. */
  day: number
  model: Model
  /** Batches without an answer. */
  pending: (readonly Write[])[]
  people: Person[]
  /** What was erased, by hash: a restored copy erases it again. */
  readonly erased: Map<string, readonly Erased[]>
  /** Whom operators have erased, and how; what no file has of them while nothing names them. */
  readonly gone: Erased[]
  /** What others keep, also of what a restore has lost. */
  readonly kept: Kept[]
  /** Ids of erasures that are done, and of tokens that they removed. */
  readonly done: Set<string>
  backups: Backup[]
  places: number
}

export const dayMs = 86_400_000

/** The time of its machine. */
export function nowOf({ day }: OperatedLedger): number {
  return Date.now() + day * dayMs
}

const archiveOf = ({ bucket }: OperatedLedger) => bucket && archiveSettings(bucket)

/** Many small segments and frames, at once. */
const hasty = {
  TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "100",
  TALLYSTICK_LIMIT_ARCHIVE_PARTIAL_MS: "1",
  TALLYSTICK_LIMIT_ARCHIVE_ENTRIES_MAX: "64",
  TALLYSTICK_LIMIT_PACK_AFTER_MS: "1",
  TALLYSTICK_LIMIT_CHECKPOINT_EVERY_MS: "100",
  // A busy machine refuses nobody who waits.
  TALLYSTICK_LIMIT_READ_WAIT_MS: "60000",
}

/** The running service, once it has answered what its clients repeat. */
export async function started(ledger: OperatedLedger): Promise<Service> {
  const { data, database, fault, pending, model } = ledger
  if (database !== undefined) shareDatabase(data, database)
  ledger.service ??= await startService({
    data,
    // The keys are in the folder, where commands replace them.
    environment: {
      ...hasty,
      ...archiveOf(ledger),
      ...clockAhead(ledger.day),
      TALLYSTICK_ROOT_KEY: undefined,
    },
    ...(fault === undefined ? {} : { program: faultyProgram, arguments: [fault] }),
  })
  if (isFull(ledger)) return ledger.service
  for (const writes of pending.splice(0)) add(model, writes, await send(ledger.service, writes))
  return ledger.service
}

/** Some batches of events. */
export function sendSome({ chance, model, people }: OperatedLedger, service: Service) {
  const size = chance.percent(10) ? 400 : 40
  const batches = Array.from({ length: 1 + chance.below(4) }, () => {
    const workspace = chance.pick(model.workspaces)
    if (chance.percent(20)) people.push(newPerson())
    const one = () => newWrite(workspace, people, chance)
    return Array.from({ length: 1 + chance.below(size) }, one)
  })
  return sent(service, batches)
}

/** Batches on their way; the answer is undefined when the connection was cut. */
export function sent(service: Service, batches: readonly (readonly Write[])[]) {
  return batches.map((writes) => ({ service, writes, reply: unlessCut(send(service, writes)) }))
}

export async function answered(ledger: OperatedLedger, sending: ReturnType<typeof sent>) {
  for (const { service, writes, reply } of sending) {
    const answer = await reply
    const isRefused = answer?.status === 503 && (isFull(ledger) || isEnded(ledger, service))
    if (answer === undefined || isRefused) ledger.pending.push(writes)
    else add(ledger.model, writes, answer)
  }
}

/** Other programs' files on the disk. */
export function ballastOf({ disk }: OperatedLedger): string | undefined {
  return disk && join(disk.path, "ballast")
}

/** Whether others have filled the disk. */
function isFull(ledger: OperatedLedger): boolean {
  return existsSync(ballastOf(ledger) ?? "")
}

/** Its power may have been cut before it ended, and then it refuses what it is asked. */
export function isEnded(ledger: OperatedLedger, service: Service): boolean {
  return ledger.service !== service
}

/** What the operator did by hand survives a power cut. */
export async function synced({ disk }: OperatedLedger): Promise<void> {
  if (disk !== undefined) assert.equal((await run("sync", ["-f", disk.path])).code, 0)
}

export async function stopped(
  ledger: OperatedLedger,
  signal = ledger.chance.pick(["SIGTERM", "SIGKILL"] as const),
) {
  const { service, chance, disk } = ledger
  ledger.service = undefined
  if (service === undefined) return
  const isCut = signal === "SIGKILL" && chance.percent(50)
  if (isCut) disk?.cutPower()
  const code = await service.end(signal)
  if (isCut) disk?.restorePower()
  if (signal === "SIGTERM") assert.equal(code, 0, service.log())
}

/** Runs a command to its end. Some are killed first, or lose power, and run again. */
export async function command(ledger: OperatedLedger, args: readonly string[]): Promise<Ended> {
  const { chance, disk } = ledger
  while (chance.percent(30)) {
    const afterMs = 100 + chance.below(1500)
    const isCut = disk !== undefined && chance.percent(50)
    const running = commandOnce(ledger, args, afterMs + (isCut ? 500 : 0))
    if (isCut) {
      await sleep(afterMs)
      disk.cutPower()
    }
    const { code, errors } = await running
    if (isCut) disk.restorePower()
    assert.ok(code === null || code === 0 || isCut, `${args.join(" ")}: ${errors}`)
  }
  const ended = await commandOnce(ledger, args)
  assert.equal(ended.code, 0, `${args.join(" ")}: ${ended.output}${ended.errors}`)
  return ended
}

export async function commandOnce(
  ledger: OperatedLedger,
  args: readonly string[],
  killAfterMs = 120_000,
) {
  const { data, service, day } = ledger
  const port = service === undefined ? {} : { TALLYSTICK_PORT: new URL(service.url).port }
  const place = { TALLYSTICK_DATA: data, ...(await engineSettings(data)), ...archiveOf(ledger) }
  return tallystick(args, { ...hasty, ...place, ...port, ...clockAhead(day) }, { killAfterMs })
}

/** Until a checkpoint covers all entries: others neither expire nor are archived nor copied. */
export async function signed(ledger: OperatedLedger): Promise<Service> {
  const service = await started(ledger)
  for (const workspace of ledger.model.workspaces) {
    const last = ledger.model.entries.findLast((entry) => entry.workspace === workspace)
    const path = `/v1/workspaces/${workspace}`
    const proof = last === undefined ? "tlog/checkpoint" : `receipts/${last.receipt.receipt}/proof`
    await eventually("a checkpoint", async () => {
      const { status, text } = await service.root.get(`${path}/${proof}`)
      // Of an entry of a former epoch none may have been kept.
      const isLost = /no kept checkpoint of this entry's epoch covers it/.test(text)
      assert.ok(status === 200 || isLost || last === undefined, text)
      return status === 200 || isLost
    })
  }
  return service
}

export async function newPlace(ledger: OperatedLedger): Promise<string> {
  const parent = join(ledger.folder, String(ledger.places++))
  await mkdir(parent)
  return join(parent, "data")
}

/** The ledger goes on in this folder, with what was erased. */
export async function moveTo(ledger: OperatedLedger, place: string): Promise<void> {
  const { data } = ledger
  if (existsSync(`${data}.erasures`)) await cp(`${data}.erasures`, `${place}.erasures`)
  await rm(data, { recursive: true })
  await synced(ledger)
  ledger.data = place
}

/** Until it is the server that expires contents: in a database, one that was killed is it for a while. */
export async function expired(ledger: OperatedLedger, workspace: string): Promise<void> {
  await eventually("what is due to expire", async () => {
    const { code, errors } = await commandOnce(ledger, ["retention", "run", workspace])
    if (/another server of this ledger expires/.test(errors)) return undefined
    assert.equal(code, 0, errors)
    return true
  })
}
