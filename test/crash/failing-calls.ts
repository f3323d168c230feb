import assert from "node:assert/strict"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { audit, type Audited } from "../promises/audit.ts"
import type { Chance } from "../chance.ts"
import { eventWrite, note, send, type Write } from "../promises/writes.ts"
import { eventually, makeWorkspace, unlessCut, type Service, type Workspace } from "../service.ts"
import type { Fault } from "./faults.ts"
import { startProgram } from "./programs.ts"
import { failCalls, type Failing } from "./tracer.ts"

// A system call of the running service fails at one point after the other, then succeeds again.
// Acknowledged writes must exist, unknown outcomes must be reported as unknown, and after a failed
// fsync of the journal the process must end, because the kernel reports the failure only once.

export interface FailingOptions {
  readonly points: number
  readonly chance: Chance
  readonly fault?: Fault
}

export interface Failed extends Audited {
  readonly points: number
  readonly acknowledged: number
  /** Requests that were answered 503, or not at all. */
  readonly failed: number
  /** Points at which the process ended, as it must after an fsync. */
  readonly ended: number
  /**
   * Points at which no write succeeded during the fault, and the service reported that it was not
   * ready.
   */
  readonly notReady: number
}

const workspacesCount = 4

export async function failAgainAndAgain({
  points,
  chance,
  fault,
}: FailingOptions): Promise<Failed> {
  const seen: Seen = { failed: 0, ended: 0, notReady: 0 }
  let service = await startProgram({}, fault)
  const first = service
  const { data } = service
  try {
    const workspaces = await Promise.all(
      Array.from({ length: workspacesCount }, () => makeWorkspace(first)),
    )
    const writers = workspaces.map((workspace, at) => createWriter(workspace, at, chance))
    const begin = 6 * chance.below(5)
    for (let point = begin; point < begin + points; point++) {
      const goesOn = await failOnce(service, failingOf(point, data), writers, seen)
      if (!goesOn) service = await startProgram({ data }, fault)
      await Promise.all(writers.map((writer) => writer.finish(service)))
    }
    const writes = writers.flatMap(({ written }) => written)
    const audited = await audit(service, { workspaces, writes, chance })
    return { ...audited, ...seen, points, acknowledged: writes.length }
  } finally {
    if (service !== first) await service[Symbol.asyncDispose]()
    await first[Symbol.asyncDispose]()
  }
}

/**
 * Every third point is an fsync; the others are the other calls of a commit and a checkpoint, once
 * or repeatedly.
 */
function failingOf(point: number, data: string): Failing {
  const files = ["journal.db", "journal.db-wal"].map((file) => join(data, file))
  const error = point % 2 === 0 ? "EIO" : "ENOSPC"
  const nth = 1 + (Math.floor(point / 6) % 5)
  if (point % 3 === 0)
    return { call: "fsync", error: "EIO", when: String(nth), files: [files[1] ?? ""] }
  // With the second, storage cannot be reopened either, which the service tries after an error.
  if (point % 3 === 1)
    return { call: point % 2 === 0 ? "pwrite64" : "pwrite64,openat", error, when: "1+", files }
  return { call: "pwrite64", error, when: String(nth), files }
}

interface Seen {
  failed: number
  ended: number
  notReady: number
}

/** Whether the service still runs. */
async function failOnce(
  service: Service,
  failing: Failing,
  writers: readonly Writer[],
  seen: Seen,
): Promise<boolean> {
  const exited = new Promise<"exited">((resolve) =>
    service.process.once("exit", () => resolve("exited")),
  )
  const tracer = await failCalls(service.process.pid ?? 0, failing)
  try {
    for (let round = 0; round < 6; round++) {
      const answers = await Promise.all(writers.map((writer) => writer.step(service)))
      const failed = answers.filter((good) => !good).length
      seen.failed += failed
      if (failing.when === "1+")
        assert.equal(failed, answers.length, "what could not be written was acknowledged")
      if (failed > 0 && failing.when === "1+") {
        assert.equal(
          (await service.client().get("/readyz")).status,
          503,
          "what cannot write is not ready",
        )
        seen.notReady += 1
        break
      }
    }
    const isSync = failing.call === "fsync"
    const outcome = await Promise.race([exited, sleep(isSync ? 5000 : 0, "goes on")])
    assert.equal(
      outcome === "exited",
      isSync,
      `after a failed ${failing.call} the process ${outcome === "exited" ? "ended" : "went on"}`,
    )
    if (isSync) seen.ended += 1
    return !isSync
  } finally {
    await tracer.stop()
  }
}

interface Writer {
  readonly written: readonly Write[]
  /** Sends a write and returns whether it was acknowledged. */
  step(service: Service): Promise<boolean>
  /** Repeats unacknowledged writes until they are acknowledged. */
  finish(service: Service): Promise<void>
}

function createWriter(workspace: Workspace, number: number, chance: Chance): Writer {
  const written: Write[] = []
  let underWay: Write | undefined
  const step = async (service: Service): Promise<boolean> => {
    underWay ??= eventWrite(workspace.id, `writer-${number}-write-${written.length}`, chance)
    const reply = await unlessCut(send(service.client(workspace.writer.bearer), [underWay]))
    if (reply === undefined) return false
    if (reply.status === 503) {
      assert.match(reply.json().error, /^(ledger_unavailable|storage_full)$/, reply.text)
      return false
    }
    note([underWay], reply)
    written.push(underWay)
    underWay = undefined
    return true
  }
  return {
    written,
    step,
    finish: async (service) =>
      void (await eventually("the service to write again", () => step(service))),
  }
}
