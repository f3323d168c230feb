import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { makeWorkspace, startService, eventFor, type Service, type Workspace } from "../service.ts"
import { expectStoredChain } from "./stored-chain.ts"
import { runOpenLoop, type OpenLoopLoad, type LoadResult } from "./open-loop-load.ts"
import { median } from "../median.ts"

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
  /**
   * Time of a refusal, and of a recorded write at the same time; the median of the medians of each
   * turn.
   */
  readonly refusedMs: number
  readonly acceptedMs: number
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
  let events = (await peakOf("first", 2)).events
  const rounds: Round[] = []
  const quick = await quietMs(neighbour)
  const seen = { neighbour: 0, slowestNeighbourMs: 0, slowestRecoveryMs: 0 }
  for (let turn = 0; turn < turns; turn++) {
    const atFirst = mainSeconds(service)
    const before = await peakOf(`peak-${turn}`, peakSeconds)
    const between = mainSeconds(service)
    const perSecond = (timesOffered * before.goodput) / batch
    const load: OpenLoopLoad = {
      ...from,
      run: `over-${turn}`,
      connections: 300,
      seconds: overSeconds,
      perSecond,
    }
    const over = await beside(runOpenLoop(load), neighbour, seen)
    const afterwards = mainSeconds(service)
    const recovery = await recoveryMs(neighbour, quick)
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
    refusedMs: median(
      rounds.map(({ over }) => (over.overloaded === 0 ? Infinity : over.refusedP50Ms)),
    ),
    acceptedMs: median(rounds.map(({ over }) => over.acceptedP50Ms)),
    ...seen,
    recorded: kept.size,
  }
}

/** What must hold. */
export function expectShedding(overloaded: Overloaded): void {
  const { offered, refused, share, shareOfCpu, refusedMs, acceptedMs, slowestRecoveryMs } =
    overloaded
  assert.ok(
    refused >= offered / 5,
    `of ${offered} requests ${refused} were refused: nothing is shed`,
  )
  // A refused request does not wait for the queue. On a busy machine everything takes longer.
  assert.ok(
    refusedMs <= Math.max(50, acceptedMs / 5),
    `refusals took ${refusedMs} ms, and what was recorded ${acceptedMs} ms`,
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
  // The fields after the name, which stands in brackets and may hold anything.
  const fields =
    readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

async function beside(
  load: Promise<LoadResult>,
  workspace: Workspace,
  seen: { neighbour: number; slowestNeighbourMs: number },
): Promise<LoadResult> {
  const state = { over: false }
  const ended = load.finally(() => (state.over = true))
  while (!state.over) {
    const tookMs = await writeOne(workspace)
    seen.neighbour += 1
    seen.slowestNeighbourMs = Math.max(seen.slowestNeighbourMs, Math.round(tookMs))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return await ended
}

async function quietMs(workspace: Workspace): Promise<number> {
  const took: number[] = []
  for (let at = 0; at < 30; at++) took.push(await writeOne(workspace))
  return median(took)
}

/**
 * As quick as before: the median of nine is at most three times the former one, or ten
 * milliseconds, the noise of the machine.
 */
async function recoveryMs(workspace: Workspace, quick: number): Promise<number> {
  const startedMs = performance.now()
  for (;;) {
    const took: number[] = []
    for (let at = 0; at < 9; at++) took.push(await writeOne(workspace))
    const elapsed = Math.round(performance.now() - startedMs)
    if (median(took) <= Math.max(3 * quick, 10) || elapsed > recoversWithinMs) return elapsed
  }
}

async function writeOne({ id, writer }: Workspace): Promise<number> {
  const startedMs = performance.now()
  const reply = await writer.write(eventFor(id))
  assert.equal(reply.status, 202, `a neighbour is refused for the crowd's sake: ${reply.text}`)
  return performance.now() - startedMs
}
