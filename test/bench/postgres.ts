// The service on PostgreSQL, in turns with a simple ledger written by hand on the same server.

import { join } from "node:path"
import { startOwnPostgres } from "../postgres-server.ts"
import type { ByHand } from "./by-hand.ts"
import type { Load, Measured } from "./load.ts"
import { measureQueries } from "./queries.ts"
import { makeWriter, runByHand, runLoad, startService, type Program } from "./programs.ts"
import { median } from "../median.ts"

export interface PostgresBench {
  readonly folder: string
  readonly seconds: number
  readonly turns: number
  /** The workspace whose pages are read has at least this many entries. */
  readonly entries: number
}

const clients = 64
const workspaces = 100
const secret = "5".repeat(64)

type Row = readonly [what: string, measured: string]

/** Settings of a machine for PostgreSQL; those that make a commit durable have their defaults. */
const settings = { shared_buffers: "1GB", max_wal_size: "4GB", checkpoint_timeout: "15min" }

export async function* measurePostgres(bench: PostgresBench): AsyncGenerator<Row> {
  await using server = await startOwnPostgres({ settings, onDisk: true })
  const [byHandUrl, url] = [await server.createDatabase(), await server.createDatabase()]
  const start = (name: string) =>
    startService(join(bench.folder, name), [], undefined, {
      TALLYSTICK_DATABASE_URL: url,
      TALLYSTICK_SECRET: secret,
      TALLYSTICK_HEADS: join(bench.folder, `${name}.heads`),
    })
  const service = await start("one")
  const writers: Load["writers"][number][] = []
  for (let at = 0; at < workspaces; at++) writers.push(await makeWriter(service.url, `w${at}`))
  const [first] = writers as [Load["writers"][number]]
  const { seconds, turns } = bench
  let run = 0
  const load = async (
    program: Program,
    batch: number,
    connections: number,
    to: Load["writers"],
  ): Promise<Rate> => {
    const beforeMs = program.cpuMs()
    const measured = await runLoad({
      url: program.url,
      connections,
      seconds,
      batch,
      writers: to,
      run: `postgres-${++run}-key`,
    })
    return rateOf(measured, program.cpuMs() - beforeMs)
  }
  const byHand = (of: number) =>
    runByHand({ url: byHandUrl, clients, workspaces: of, seconds } satisfies ByHand)

  await load(service, 100, 8, [first])
  await load(service, 0, clients, writers)
  for (const [name, of, to] of [
    ["one workspace", 1, [first]],
    [`${workspaces} workspaces`, workspaces, writers],
  ] as const) {
    const rates: { readonly theirs: number; readonly ours: Rate }[] = []
    for (let turn = 0; turn < turns; turn++)
      rates.push({ theirs: await byHand(of), ours: await load(service, 0, clients, to) })
    const ratio = median(rates.map(({ theirs, ours }) => ours.perSecond / theirs))
    const [ours, theirs] = [
      median(rates.map((one) => one.ours.perSecond)),
      median(rates.map((one) => one.theirs)),
    ]
    const cpuUs = median(rates.map((one) => one.ours.cpuUs))
    yield [
      `single events to ${name}, ${clients} connections`,
      `${ratio.toFixed(1)} times what is written by hand (${whole(ours)} to ${whole(theirs)} events/s; ${whole(cpuUs)} µs of processor time an event, without the database's)`,
    ]
  }
  const batches: Rate[] = []
  for (let turn = 0; turn < turns; turn++) batches.push(await load(service, 100, 8, [first]))
  yield [
    "batches of 100 to one workspace, 8 connections",
    `${whole(median(batches.map(({ perSecond }) => perSecond)))} events/s, ${whole(median(batches.map(({ cpuUs }) => cpuUs)))} µs of processor time an event, without the database's`,
  ]
  const second = await start("two")
  await load(second, 0, clients, [first])
  const both: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const alone = await load(service, 0, clients, [first])
    const together = await Promise.all(
      [service, second].map((one) => load(one, 0, clients / 2, [first])),
    )
    both.push(together.reduce((sum, { perSecond }) => sum + perSecond, 0) / alone.perSecond)
  }
  yield ["two servers on one database, of the rate of one", median(both).toFixed(2)]
  await second.stop()
  yield* pagesOf(service, first, bench.entries)
  await service.stop()
}

async function* pagesOf(
  { url }: Program,
  writer: Load["writers"][number],
  entries: number,
): AsyncGenerator<Row> {
  const written = await sizeOf(url, writer)
  const load = { url, connections: 8, seconds: 600, batch: 100, writers: [writer] }
  if (written < entries)
    await runLoad({ ...load, run: "postgres-fill-key", eventsMax: entries - written })
  const scale = Math.min(1, entries / 1_000_000)
  const size = await sizeOf(url, writer)
  const { latencies } = await measureQueries(url, writer, size, scale)
  for (const { name, p50Ms, p99Ms } of latencies)
    yield [
      `${name} of ${whole(size)} entries, while 2,000 events/s are written`,
      `median ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
    ]
}

/** By its checkpoint. */
async function sizeOf(url: string, { workspace, key }: Load["writers"][number]): Promise<number> {
  const path = `/v1/workspaces/${workspace}/tlog/checkpoint`
  const note = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
  return Number((await note.text()).split("\n")[1])
}

interface Rate {
  readonly perSecond: number
  readonly cpuUs: number
}

function rateOf({ events, refused, seconds }: Measured, cpuMs: number): Rate {
  if (refused > 0) process.stdout.write(`(${refused} requests were refused)\n`)
  return { perSecond: events / seconds, cpuUs: (cpuMs * 1000) / events }
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en")
}
