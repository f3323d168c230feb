import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { eventFor, makeWorkspace, startService, type Workspace } from "../service.ts"
import { startCrowd, kindOf, kinds, type Kind } from "./slow-crowd.ts"
import { median, quantile } from "../median.ts"
import { residentMbOf } from "../metrics.ts"

// Many clients that are slow on purpose: they send headers or bodies slowly, or read answers
// slowly. Each reconnects when it is cut off. One good client writes and reads beside them; its
// turns alternate with turns without them, because the machine is busy, too.

export interface SlowOptions {
  readonly sockets: number
  readonly turns: number
  /** Requests of the good client in a turn. */
  readonly requests: number
  /** The time, beside the turns, for as many cuts as there are clients. */
  readonly cutWithinMs?: number
  /** With more clients each is slower, or the test would measure their reconnecting. */
  readonly pace?: number
  readonly environment?: Readonly<Record<string, string>>
}

export interface Slowed {
  readonly sockets: number
  /** Medians of the turns. */
  readonly quietP99Ms: number
  readonly amongP99Ms: number
  /** The p99 of the best turn with slow clients. */
  readonly bestP99Ms: number
  /** How many of each kind were cut off. */
  readonly cut: Counts
  readonly requests: number
  readonly residentMb: number
}

type Counts = Readonly<Record<Kind, number>>

function countOf(kind: Kind, sockets: number): number {
  return Array.from({ length: sockets }, (_, at) => kindOf(at)).filter((one) => one === kind).length
}

/** So that each is cut off within a turn. */
export function impatient(pace = 1): Readonly<Record<string, string>> {
  return {
    TALLYSTICK_LIMIT_HEADERS_TIMEOUT_MS: String(pace * 1000),
    TALLYSTICK_LIMIT_BODY_TIMEOUT_MS: String(pace * 1500),
    TALLYSTICK_LIMIT_STILL_TIMEOUT_MS: String(pace * 1000),
    TALLYSTICK_LIMIT_ANSWER_BYTES_PER_SECOND_MIN: "10000000",
    // The test is about slowness, not about many connections of one address.
    TALLYSTICK_LIMIT_ANONYMOUS_READS_PER_MINUTE: "1000000",
  }
}

export async function besideSlowClients({
  sockets,
  turns,
  requests,
  cutWithinMs = 15_000,
  pace = 1,
  environment = impatient(pace),
}: SlowOptions): Promise<Slowed> {
  await using service = await startService({ environment })
  const workspace = await makeWorkspace(service)
  const cut: Record<Kind, number> = { headers: 0, body: 0, answer: 0 }
  await p99Of(workspace, requests)
  const quiet: number[] = []
  const among: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    quiet.push(await p99Of(workspace, requests))
    {
      await using crowd = startCrowd({
        url: service.url,
        bearer: workspace.writer.bearer ?? "",
        sockets,
        pace,
      })
      // The good client begins at the first cuts, when as many leave as come.
      await sleep(pace * 4500)
      among.push(await p99Of(workspace, requests))
      if (turn === turns - 1) await allMet(crowd.cut, cut, sockets, cutWithinMs)
      for (const kind of kinds) cut[kind] += crowd.cut[kind]
    }
    await sleep(200)
  }
  return {
    sockets,
    quietP99Ms: median(quiet),
    amongP99Ms: median(among),
    bestP99Ms: Math.min(...among),
    cut,
    requests: 2 * turns * requests,
    residentMb: Math.round(await residentMbOf(service)),
  }
}

async function allMet(
  now: Counts,
  before: Counts,
  sockets: number,
  withinMs: number,
): Promise<void> {
  const endMs = performance.now() + withinMs
  while (
    kinds.some((kind) => before[kind] + now[kind] < countOf(kind, sockets)) &&
    performance.now() < endMs
  )
    await sleep(100)
}

/**
 * What must hold. Slow clients that starve the good one do so in every turn, and other programs in
 * some. Differences below ten milliseconds are the machine's.
 */
export function expectUndisturbed({ sockets, quietP99Ms, bestP99Ms, cut }: Slowed): void {
  for (const kind of kinds)
    assert.ok(
      cut[kind] >= countOf(kind, sockets),
      `${cut[kind]} that were slow with ${kind} were cut off`,
    )
  assert.ok(
    bestP99Ms <= Math.max(3 * quietP99Ms, 10),
    `p99 is at best ${bestP99Ms} ms, and ${quietP99Ms} ms when it is quiet`,
  )
}

async function p99Of({ id, path, writer, reader }: Workspace, requests: number): Promise<number> {
  const took: number[] = []
  for (let at = 0; at < requests; at++) {
    const startedMs = performance.now()
    const reply = at % 2 === 0 ? await writer.write(eventFor(id)) : await reader.get(path)
    took.push(performance.now() - startedMs)
    assert.equal(reply.status, at % 2 === 0 ? 202 : 200, reply.text)
  }
  return Math.round(10 * quantile(took, 0.99)) / 10
}
