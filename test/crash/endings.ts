import assert from "node:assert/strict"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { audit, type Audited } from "../promises/audit.ts"
import type { Chance } from "../chance.ts"
import {
  consentWrite,
  eventWrite,
  note,
  send,
  type Sending,
  type Write,
} from "../promises/writes.ts"
import { makeWorkspace, unlessCut, type Service, type Workspace } from "../service.ts"
import type { Disk } from "./disks.ts"
import type { Fault } from "./faults.ts"
import { startProgram } from "./programs.ts"

// Ends a service under load again and again, and starts it on the same data. Each client keeps one
// request in flight and repeats an unanswered one with the same key. At the end every acknowledged
// write is looked up.

export interface EndingsOptions {
  readonly endings: number
  readonly signal: "SIGKILL" | "SIGTERM"
  readonly clients?: number
  readonly chance: Chance
  readonly fault?: Fault
  /** Holds the data. Its power is cut right before each ending. */
  readonly disk?: Disk
  /** Runs alongside each service. */
  readonly beside?: (service: Service) => Promise<unknown>
}

export interface Endings extends Audited {
  readonly endings: number
  readonly acknowledged: number
  /** Writes under way when the service ended; each was sent again. */
  readonly retried: number
  /** Those of them that had been recorded, though their client had heard nothing. */
  readonly recordedUnheard: number
  /** Requests that were refused because the service was stopping. */
  readonly refused: number
  readonly slowestStartMs: number
  readonly slowestStopMs: number
}

const workspacesCount = 4
/** The load lasts up to this long before each ending. */
const loadMsMax = 150

export async function endAgainAndAgain({
  endings,
  signal,
  clients = 20,
  chance,
  fault,
  disk,
  beside = async () => {},
}: EndingsOptions): Promise<Endings> {
  const seen = { retried: 0, recordedUnheard: 0, refused: 0, slowestStartMs: 0, slowestStopMs: 0 }
  const power = { isOn: true }
  // A small disk has not the room that is usually left free.
  const environment = disk === undefined ? {} : { TALLYSTICK_LIMIT_DISK_RESERVE_BYTES: "1000000" }
  await using first = await startProgram(
    { ...(disk && { data: join(disk.path, "data") }), environment },
    fault,
  )
  const workspaces = await Promise.all(
    Array.from({ length: workspacesCount }, () => makeWorkspace(first)),
  )
  const writers = Array.from({ length: clients }, (_, number) =>
    createWriter(
      number,
      workspaces,
      chance,
      power,
      disk === undefined ? stopping : [...stopping, ...diskless],
    ),
  )
  const { data } = first
  await first.end()

  for (let ending = 0; ending < endings; ending++) {
    await using service = await timed(seen, () => startProgram({ data, environment }, fault))
    await beside(service)
    const load = startLoad(service, writers, seen)
    // A cold service is slow, so in most rounds the time counts from its first answer.
    await Promise.race([chance.percent(20) ? undefined : load.answered, load.over])
    await Promise.race([sleep(chance.below(loadMsMax)), load.over])
    const startedMs = performance.now()
    if (disk !== undefined) {
      power.isOn = false
      disk.cutPower()
    }
    const code = await service.end(signal)
    seen.slowestStopMs = Math.max(seen.slowestStopMs, performance.now() - startedMs)
    // Without its disk it may have ended by itself.
    assert.ok(
      code === (signal === "SIGKILL" ? null : 0) || (disk !== undefined && code === 1),
      `ended by ${signal}: ${service.log()}`,
    )
    await load.over
    disk?.restorePower()
    power.isOn = true
  }

  await using last = await startProgram({ data, environment }, fault)
  await Promise.all(writers.map((writer) => writer.finish(last, seen)))
  const writes = writers.flatMap((writer) => writer.written)
  const audited = await audit(last, { workspaces, writes, chance })
  return { ...audited, ...seen, endings, acknowledged: writes.length }
}

async function timed(
  seen: { slowestStartMs: number },
  start: () => Promise<Service>,
): Promise<Service> {
  const startedMs = performance.now()
  const service = await start()
  seen.slowestStartMs = Math.max(seen.slowestStartMs, performance.now() - startedMs)
  return service
}

/**
 * All clients at once. `answered` is when the first of them has an answer, `over` when the service
 * is gone for all of them.
 */
function startLoad(
  service: Service,
  writers: readonly Writer[],
  seen: Seen,
): { readonly answered: Promise<void>; readonly over: Promise<unknown> } {
  let hear = (): void => {}
  const answered = new Promise<void>((resolve) => (hear = resolve))
  return { answered, over: Promise.all(writers.map((writer) => writer.write(service, seen, hear))) }
}

interface Seen {
  retried: number
  recordedUnheard: number
  refused: number
}

interface Writer {
  readonly written: readonly Write[]
  /** Writes until the service ends. */
  write(service: Service, seen: Seen, answered: () => void): Promise<void>
  /** Repeats the unanswered request. */
  finish(service: Service, seen: Seen): Promise<void>
}

const stopping = ["shutting_down"] as const
/** Answers that are allowed between the end of the disk and that of the service. */
const diskless = ["ledger_unavailable", "storage_full"] as const

function createWriter(
  number: number,
  workspaces: readonly Workspace[],
  chance: Chance,
  power: { readonly isOn: boolean },
  refusals: readonly string[],
): Writer {
  const allowed = new Set(refusals)
  const written: Write[] = []
  let count = 0
  let underWay: { readonly workspace: Workspace; readonly sending: Sending } | undefined

  const next = (): NonNullable<typeof underWay> => {
    const workspace = chance.pick(workspaces)
    const key = () => `client-${number}-write-${++count}`
    const event = () => eventWrite(workspace.id, key(), chance)
    if (chance.percent(5))
      return { workspace, sending: [consentWrite(workspace.id, key(), chance)] }
    if (chance.percent(75)) return { workspace, sending: [event()] }
    return { workspace, sending: [event(), ...Array.from({ length: chance.below(12) }, event)] }
  }
  /** Whether the service still runs. */
  const step = async (service: Service, seen: Seen): Promise<boolean> => {
    const isRetry = underWay !== undefined
    underWay ??= next()
    const { workspace, sending } = underWay
    const reply = await unlessCut(send(service.client(workspace.writer.bearer), sending))
    if (reply === undefined) return false
    if (reply.status === 503) {
      assert.ok(allowed.has(reply.json().error), reply.text)
      seen.refused += 1
      return false
    }
    assert.equal(reply.status, 202, reply.text)
    // Without power this answer would not have come. A failing disk may report a commit as synced
    // and then drop its last blocks.
    if (!power.isOn) return false
    const { replayed } = note(sending, reply)
    assert.ok(isRetry || replayed === 0, "a new key is new")
    if (isRetry) seen.retried += sending.length
    seen.recordedUnheard += replayed
    written.push(...sending)
    underWay = undefined
    return true
  }
  return {
    written,
    async write(service, seen, answered) {
      while (await step(service, seen)) answered()
    },
    async finish(service, seen) {
      if (underWay !== undefined)
        assert.ok(await step(service, seen), "nobody ends the last service")
    },
  }
}
