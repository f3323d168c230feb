// Entries as they grow old, measured from outside: bytes in the database and in the archive,
// exports, archiving, reading the archive, erasing a person, expiry. Nine tenths of the entries are
// a hundred days old: the service that records them has a late clock.

import { readdirSync, statSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { join } from "node:path"
import { measureDisk } from "./disk.ts"
import type { Load } from "./load.ts"
import {
  makeWriter,
  metric,
  rootKey,
  runLoad,
  settled,
  startService,
  stillMs,
  type Program,
} from "./programs.ts"
import { median, quantile } from "../median.ts"

interface Lifetime {
  readonly folder: string
  readonly entries: number
  readonly turns: number
  readonly seconds: number
}

type Row = readonly [what: string, measured: string]

const dayMs = 86_400_000
const lateBy = (ms: number): string =>
  `data:text/javascript,const now=Date.now;Date.now=()=>now()-${ms}`
const never = 36_500
/** One entry in a hundred is about each of them, evenly spread. */
const people = { fields: "usr_erased_fields", entries: "usr_erased_entries" } as const

export async function* measureLifetime({
  folder,
  entries,
  turns,
  seconds,
}: Lifetime): AsyncGenerator<Row> {
  const data = join(folder, "lifetime")
  const old = Math.round(entries * 0.9)
  let service = await startService(data, ["--import", lateBy(100 * dayMs)])
  // Also if a measurement fails.
  process.once("exit", () => void service.child.kill("SIGKILL"))
  const writer = await makeWriter(service.url, "large")
  const path = `/v1/workspaces/${writer.workspace}`
  await ask(service.url, "PATCH", path, rootKey, { hotDays: never })
  const fill = (count: number, run: string, of: readonly string[] = []) =>
    runLoad({
      url: service.url,
      connections: 8,
      seconds: 600,
      batch: 100,
      writers: [writer],
      run: `${run}-entries-key`,
      eventsMax: count,
      people: of,
    })
  await fill(old, "old", Object.values(people))
  await service.stop()
  service = await startService(data, [], undefined, { TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "1000" })
  await fill(entries - old, "new")
  await settled(service, "tallystick_packed_entries_total")
  const { total } = await list(service, writer, "?limit=1&storage=all")
  yield ["entries", whole(total)]
  for (const [what, bytes] of measureDisk(data)) yield [`hot, bytes: ${what}`, whole(bytes)]
  yield* exports(service, writer, total, turns)
  yield* archiving(service, writer, path, data, seconds)
  await service.stop()
  for (const [what, bytes] of measureDisk(data)) yield [`archived, bytes: ${what}`, whole(bytes)]
  service = await startService(data)
  yield* archivedReads(service, writer, old)
  for (const scope of ["fields", "entries"] as const)
    yield* erasing(service, writer, path, seconds, scope)
  yield* expiring(service, path)
  await service.stop()
}

// Exports -----------------------------------------------------------------------------------------

async function* exports(
  service: Program,
  writer: Load["writers"][number],
  total: number,
  turns: number,
): AsyncGenerator<Row> {
  const alone = await smallReads(service, writer, (at) => at < 100)
  yield ["a page of ten, nothing else going on", latencies(alone)]
  for (const format of ["jsonl", "csv", "parquet"]) {
    const rates: number[] = []
    const cpuUs: number[] = []
    const beside: number[] = []
    const resident: number[] = []
    // The first turn is not counted: the thread starts, and its code is compiled.
    for (let turn = 0; turn <= turns; turn++) {
      let isDone = false
      const reading = smallReads(service, writer, () => !isDone)
      const [startedMs, beforeMs] = [performance.now(), service.cpuMs()]
      let mostMb = 0
      const url = `${service.url}/v1/workspaces/${writer.workspace}/events/export?storage=all&format=${format}`
      const response = await fetch(url, { headers: { authorization: `Bearer ${writer.key}` } })
      if (response.body === null || !response.ok) throw new Error(`no export: ${response.status}`)
      let chunks = 0
      for await (const _ of response.body)
        if (chunks++ % 50 === 0) mostMb = Math.max(mostMb, service.residentMb())
      const tookMs = performance.now() - startedMs
      const spentMs = service.cpuMs() - beforeMs
      isDone = true
      const read = await reading
      if (turn === 0) continue
      rates.push((total / tookMs) * 1000)
      cpuUs.push((spentMs * 1000) / total)
      beside.push(...read)
      resident.push(mostMb)
    }
    yield [
      `export as ${format}`,
      `${whole(median(rates))} entries/s, ${median(cpuUs).toFixed(1)} µs of processor time each with the reads beside it, ${whole(Math.max(...resident))} MB resident at most`,
    ]
    yield [`… a page of ten beside it`, latencies(beside)]
  }
}

/** How long each of these took, one after the other. */
async function smallReads(
  service: Program,
  writer: Load["writers"][number],
  goesOn: (at: number) => boolean,
): Promise<number[]> {
  const took: number[] = []
  for (let at = 0; goesOn(at); at++) {
    const startedMs = performance.now()
    await list(service, writer, "?limit=10")
    took.push(performance.now() - startedMs)
    await sleep(20)
  }
  return took
}

// The archive -------------------------------------------------------------------------------------

async function* archiving(
  service: Program,
  writer: Load["writers"][number],
  path: string,
  data: string,
  seconds: number,
): AsyncGenerator<Row> {
  const write = (run: string, forSeconds: number) =>
    runLoad({
      url: service.url,
      connections: 16,
      seconds: forSeconds,
      batch: 0,
      writers: [writer],
      run: `${run}-writes-key`,
      perSecond: 2000,
    })
  const before = await write("before", seconds)
  await ask(service.url, "PATCH", path, rootKey, { hotDays: 90 })
  const startedMs = performance.now()
  const beside = write("beside", Math.max(seconds, 20))
  while ((await metric(service.url, "tallystick_archive_bytes")) === 0) {
    if (performance.now() - startedMs > beginsMs) {
      await beside
      yield ["archived", `nothing after ${beginsMs / 1000} s`]
      return
    }
    await sleep(100)
  }
  await settled(service, "tallystick_archive_bytes")
  // The time that `settled` waits is not counted.
  const tookMs = performance.now() - startedMs - stillMs
  const during = await beside
  const bytes = bytesIn(join(data, "archive"))
  const { total } = await list(service, writer, "?limit=1&storage=archive")
  yield ["archived", `${whole(total)} entries, ${whole((total / tookMs) * 1000)} entries/s`]
  yield ["segments, bytes of an entry", whole(bytes / total)]
  yield [
    "2,000 events/s, p99 ms without and beside archiving",
    `${before.p99Ms.toFixed(1)} and ${during.p99Ms.toFixed(1)}; ${during.refused} refused`,
  ]
  yield ["resident after archiving", `${whole(service.residentMb())} MB`]
}

async function* archivedReads(
  service: Program,
  writer: Load["writers"][number],
  old: number,
): AsyncGenerator<Row> {
  const pages: number[] = []
  const receipts: number[] = []
  for (let at = 0; at < 200; at++) {
    const cursor = 100 + Math.floor(Math.random() * (old - 100))
    const startedMs = performance.now()
    const { events } = await list(service, writer, `?limit=50&storage=archive&cursor=${cursor}`)
    pages.push(performance.now() - startedMs)
    const receipt = events[25]?.receipt
    if (receipt === undefined) continue
    const receiptMs = performance.now()
    const url = `/v1/workspaces/${writer.workspace}/receipts/${receipt}`
    const { verified } = await ask<{ verified: boolean }>(service.url, "GET", url, writer.key)
    if (!verified) throw new Error(`${receipt} is not verified`)
    receipts.push(performance.now() - receiptMs)
  }
  yield ["a page of 50 archived entries", latencies(pages)]
  yield ["verification of an archived receipt", latencies(receipts)]
  const spread: number[] = []
  for (let at = 0; at < 50; at++) {
    const startedMs = performance.now()
    const query = encodeURIComponent(`actor:usr_${Math.floor(Math.random() * 5000)}`)
    await list(service, writer, `?limit=50&storage=archive&query=${query}`)
    spread.push(performance.now() - startedMs)
  }
  yield ["a page of up to 50 archived entries of one person, far apart", latencies(spread)]
}

// Destroyed ---------------------------------------------------------------------------------------

async function* erasing(
  service: Program,
  writer: Load["writers"][number],
  path: string,
  seconds: number,
  scope: keyof typeof people,
): AsyncGenerator<Row> {
  const load = { url: service.url, connections: 16, batch: 0, writers: [writer], perSecond: 2000 }
  const before = await runLoad({ ...load, seconds, run: `before-${scope}-key` })
  const beside = runLoad({ ...load, seconds: Math.max(seconds, 10), run: `erasing-${scope}-key` })
  const [startedMs, begunMs] = [performance.now(), service.cpuMs()]
  const body = { subject: { id: people[scope] }, scope, reason: "a benchmark" }
  const { erasureId } = await ask<{ erasureId: string }>(
    service.url,
    "POST",
    `${path}/erasures`,
    rootKey,
    body,
  )
  const look = () =>
    ask<{ state: string; entries: number }>(
      service.url,
      "GET",
      `${path}/erasures/${erasureId}`,
      rootKey,
    )
  let erasure = await look()
  for (; erasure.state !== "done"; erasure = await look()) await sleep(50)
  const tookMs = performance.now() - startedMs
  const spentMs = service.cpuMs() - begunMs
  const during = await beside
  yield [
    `erased, ${scope}`,
    `${erasure.entries} entries of one person in ${(tookMs / 1000).toFixed(1)} s, ${(spentMs / 1000).toFixed(1)} s of processor time with the writes beside it`,
  ]
  yield [
    "2,000 events/s, p99 ms without and beside this erasure",
    `${before.p99Ms.toFixed(1)} and ${during.p99Ms.toFixed(1)}: ${(during.p99Ms / before.p99Ms).toFixed(2)} times; ${during.refused} refused`,
  ]
}

async function* expiring(service: Program, path: string): AsyncGenerator<Row> {
  const retention = [{ days: 30 }]
  const preview = () =>
    ask<{ token?: string; entries?: number }>(
      service.url,
      "POST",
      `${path}/retention/preview`,
      rootKey,
      { retention },
    )
  let counted = await preview()
  for (; counted.token === undefined; counted = await preview()) await sleep(100)
  await ask(service.url, "PATCH", path, rootKey, { retention, confirm: counted.token })
  const [startedMs, begunMs] = [performance.now(), service.cpuMs()]
  const run = () =>
    ask<{ isRunning: boolean }>(service.url, "POST", `${path}/retention/run`, rootKey, {})
  for (let { isRunning } = await run(); isRunning; { isRunning } = await run());
  const tookMs = performance.now() - startedMs
  const spentUs = ((service.cpuMs() - begunMs) * 1000) / (counted.entries ?? 1)
  const { entries = 0 } = counted
  yield [
    "expired",
    `${whole(entries)} entries, ${whole((entries / tookMs) * 1000)} entries/s, ${spentUs.toFixed(1)} µs of processor time each`,
  ]
}

// -------------------------------------------------------------------------------------------------

/** How long archiving may take to begin. */
const beginsMs = 90_000

interface Page {
  readonly total: number
  readonly events: readonly { readonly receipt: string }[]
}

function list(
  { url }: Program,
  { workspace, key }: Load["writers"][number],
  query: string,
): Promise<Page> {
  return ask<Page>(url, "GET", `/v1/workspaces/${workspace}/events${query}`, key)
}

async function ask<T>(
  url: string,
  method: string,
  path: string,
  key: string,
  body?: object,
): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  // The service's own tests compare its answers with their description.
  return (text === "" ? {} : JSON.parse(text)) as T
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

function latencies(took: readonly number[]): string {
  const at = (share: number): string => quantile(took, share).toFixed(1)
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms, of ${took.length}`
}

function whole(value: number): string {
  return Math.round(value).toString()
}
