import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { makeWorkspace, startService, eventFor, type Service, type Workspace } from "../service.ts"
import { expectStoredChain } from "./stored-chain.ts"
import { runOpenLoop, type OpenLoopLoad, type LoadResult } from "./open-loop-load.ts"
import { median } from "../median.ts"
import { samplesOf } from "../metrics.ts"

// Clients that do not wait send three times the capacity, while a client of another workspace
// writes a little. Peak and overload alternate on one machine with the generator, so only medians
// and ratios within the same seconds count.

export interface OverloadOptions {
  readonly turns: number
  readonly peakSeconds: number
  readonly overSeconds: number
  readonly environment?: Readonly<Record<string, string>>
}

export interface Overloaded {
  readonly turns: number
  /**
   * Events a second at the peak, and their share that was recorded in an overload; medians of the
   * turns.
   */
  readonly peak: number
  readonly share: number
  /**
   * The same by processor time of the service's main thread, which other programs do not change.
   */
  readonly shareOfCpu: number
  readonly offered: number
  readonly refused: number
  /** The greatest share of a turn that was refused. */
  readonly refusedShare: number
  /**
   * Time of a refusal, and of a recorded write at the same time, as the service measures them: other
   * programs slow the generator down. The medians of the averages of each turn.
   */
  readonly refusedMs: number
  readonly acceptedMs: number
  /** The first over the second, in the turn in which it was least. */
  readonly refusedRatio: number
  /** Writes of the other workspace during the overload; none may be refused. */
  readonly neighbour: number
  readonly slowestNeighbourMs: number
  /** From the end of an overload until a write is as quick as before. */
  readonly slowestRecoveryMs: number
  readonly recorded: number
}

interface Round {
  readonly peak: LoadResult
  readonly over: LoadResult
  readonly share: number
  readonly shareOfCpu: number
  readonly refusedMs: number
  readonly acceptedMs: number
}

const batch = 100
const timesOffered = 3
const recoversWithinMs = 10_000

export async function overload({
  turns,
  peakSeconds,
  overSeconds,
  environment = {},
}: OverloadOptions): Promise<Overloaded> {
  await using service = await startService({ environment })
  const crowd = await makeWorkspace(service)
  const neighbour = await makeWorkspace(service)
  const from = { url: service.url, workspace: crowd.id, key: crowd.writer.bearer ?? "", batch }
  const peakOf = (run: string, seconds: number): Promise<LoadResult> =>
    runOpenLoop({ ...from, run, connections: 8, seconds })
  let events = (await peakOf("first", 1)).events
  const rounds: Round[] = []
  const quick = await quicknessOf(service, neighbour, 30)
  const seen = { neighbour: 0, slowestNeighbourMs: 0, slowestRecoveryMs: 0 }
  for (let turn = 0; turn < turns; turn++) {
    const atFirst = mainSeconds(service)
    const before = await peakOf(`peak-${turn}`, peakSeconds)
    const between = mainSeconds(service)
    const timesBefore = await batchTimes(service)
    const perSecond = (timesOffered * before.goodput) / batch
    const load: OpenLoopLoad = {
      ...from,
      run: `over-${turn}`,
      connections: 300,
      seconds: overSeconds,
      perSecond,
    }
    const over = await beside(runOpenLoop(load), async () => {
      const tookMs = await writeOne(neighbour)
      seen.neighbour += 1
      seen.slowestNeighbourMs = Math.max(seen.slowestNeighbourMs, Math.round(tookMs))
    })
    const afterwards = mainSeconds(service)
    const times = await batchTimes(service)
    const recovery = await recoveryMs(service, neighbour, quick)
    seen.slowestRecoveryMs = Math.max(seen.slowestRecoveryMs, recovery)
    events += before.events + over.events
    assert.deepEqual(over.others, {}, "everything is either recorded or refused")
    assert.equal(over.unanswered, 0, "everybody is answered")
    const costs = {
      peak: (between - atFirst) / before.events,
      over: (afterwards - between) / over.events,
    }
    rounds.push({
      peak: before,
      over,
      share: over.goodput / before.goodput,
      shareOfCpu: costs.peak / costs.over,
      refusedMs: averageMs(times.refused, timesBefore.refused),
      acceptedMs: averageMs(times.accepted, timesBefore.accepted),
    })
  }
  const kept = await expectStoredChain(service.data, crowd.id)
  // The creation of projects and the like are entries, too.
  assert.ok(
    kept.size >= events && kept.size < events + 20,
    `${events} events were acknowledged, and ${kept.size} are recorded`,
  )
  return {
    turns,
    peak: Math.round(median(rounds.map(({ peak }) => peak.goodput))),
    share: median(rounds.map(({ share }) => share)),
    shareOfCpu: median(rounds.map(({ shareOfCpu }) => shareOfCpu)),
    offered: rounds.reduce((sum, { over }) => sum + over.sent, 0),
    refused: rounds.reduce((sum, { over }) => sum + over.overloaded, 0),
    refusedShare: Math.max(...rounds.map(({ over }) => over.overloaded / over.sent)),
    refusedMs: median(rounds.map(({ refusedMs }) => refusedMs)),
    acceptedMs: median(rounds.map(({ acceptedMs }) => acceptedMs)),
    refusedRatio: Math.min(...rounds.map(({ refusedMs, acceptedMs }) => refusedMs / acceptedMs)),
    ...seen,
    recorded: kept.size,
  }
}

/**
 * What must hold. A service that sheds nothing, or late, does so in every turn; where other programs
 * keep the generator from offering what it should, that is in some.
 */
export function expectShedding(overloaded: Overloaded): void {
  const { refusedShare, share, shareOfCpu, refusedMs, refusedRatio, slowestRecoveryMs } = overloaded
  assert.ok(
    refusedShare >= 0.2,
    `at most ${refusedShare.toFixed(2)} of the requests of a turn were refused: nothing is shed`,
  )
  // A refused request does not wait for the queue. On a busy machine everything takes longer.
  assert.ok(
    refusedMs <= 50 || refusedRatio <= 1 / 3,
    `refusals took ${refusedMs} ms, and at best ${refusedRatio.toFixed(2)} of what was recorded`,
  )
  // The rate itself depends on other programs of the machine.
  const done = process.platform === "linux" ? shareOfCpu : share
  assert.ok(
    done >= 0.8,
    `of what a second of processor records at the peak, ${done.toFixed(2)} were recorded`,
  )
  assert.ok(
    slowestRecoveryMs <= recoversWithinMs,
    `it took ${slowestRecoveryMs} ms until all was as before`,
  )
}

/** Processor time of the main thread. */
function mainSeconds({ process: { pid } }: Service): number {
  if (process.platform !== "linux") return Number.NaN
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ")
  return Number(nanoseconds) / 1e9
}

async function beside(load: Promise<LoadResult>, act: () => Promise<void>): Promise<LoadResult> {
  const state = { over: false }
  const ended = load.finally(() => (state.over = true))
  while (!state.over) {
    await act()
    await sleep(50)
  }
  return await ended
}

interface Quickness {
  /** The median time of a write. */
  readonly writeMs: number
  /** Processor time of the main thread for each. */
  readonly cpuMs: number
}

async function quicknessOf(
  service: Service,
  workspace: Workspace,
  writes: number,
): Promise<Quickness> {
  const before = mainSeconds(service)
  const took: number[] = []
  for (let at = 0; at < writes; at++) took.push(await writeOne(workspace))
  return {
    writeMs: median(took),
    cpuMs: (1000 * (mainSeconds(service) - before)) / writes,
  }
}

/**
 * As quick as before: the median of nine is at most three times the former one, or ten
 * milliseconds, the noise of the machine. Beside other programs, the processor time is.
 */
async function recoveryMs(
  service: Service,
  workspace: Workspace,
  quick: Quickness,
): Promise<number> {
  const startedMs = performance.now()
  for (;;) {
    const { writeMs, cpuMs } = await quicknessOf(service, workspace, 9)
    const elapsed = Math.round(performance.now() - startedMs)
    const isQuick = writeMs <= Math.max(3 * quick.writeMs, 10) || cpuMs <= 3 * quick.cpuMs
    if (isQuick || elapsed > recoversWithinMs) return elapsed
  }
}

interface Times {
  readonly count: number
  readonly seconds: number
}

/** Of all batches until now, by the service's own metrics. */
async function batchTimes({ root }: Service) {
  const samples = samplesOf((await root.get("/metrics")).text)
  const of = (status: number, what: string): number => {
    const labels = `{route="/v1/events/batch",method="POST",status="${status}"}`
    return samples.get(`tallystick_request_duration_seconds_${what}${labels}`) ?? 0
  }
  const timesOf = (status: number): Times => ({
    count: of(status, "count"),
    seconds: of(status, "sum"),
  })
  return { accepted: timesOf(202), refused: timesOf(503) }
}

/** Infinity if there was none. */
function averageMs(now: Times, before: Times): number {
  const count = now.count - before.count
  return count === 0 ? Infinity : (1000 * (now.seconds - before.seconds)) / count
}

async function writeOne({ id, writer }: Workspace): Promise<number> {
  const startedMs = performance.now()
  const reply = await writer.write(eventFor(id))
  assert.equal(reply.status, 202, `a neighbour is refused for the crowd's sake: ${reply.text}`)
  return performance.now() - startedMs
}
