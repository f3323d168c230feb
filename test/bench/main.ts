// `npm run bench`: the figures of docs/figures.md, from one run. Compared programs run in turns, on
// this machine, in the same minutes. The load generator shares its cores, so ratios and medians
// count.
//
//   npm run bench                      everything, a million entries
//   npm run bench -- --entries 100000  a smaller ledger      --seconds 3  shorter turns      --turns 1  fewer of them
//   npm run bench -- --large           one workspace of ten million entries, asked at a million too
//   npm run bench -- --search          the search alone: making its segments, and asking them
//   npm run bench -- --followers 1000  a writer beside so many who follow
//   npm run bench -- --garbage         what an event allocates, and how much of it grows old
//   npm run bench -- --peers           batches against a chained table in PostgreSQL, where it is installed
//   npm run bench -- --postgres        on PostgreSQL, against what one would write by hand
//   npm run bench -- --lifetime        bytes of an entry as it grows old, exports, archiving, erasing, expiry
//   npm run bench -- --web             the dashboard in a real browser: sizes, paint, scrolling, new rows
//   npm run bench -- --against ../old  writing alone, in turns with another checkout that is ready

import { mkdtempSync, rmSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { measureDisk } from "./disk.ts"
import { measureFollowers } from "./followers.ts"
import { measureGarbage } from "./garbage.ts"
import { startPostgres } from "./peers.ts"
import {
  makeWriter,
  metric,
  runFsck,
  runLoad,
  settled,
  startBare,
  startService,
  type Program,
} from "./programs.ts"
import { eventBody, type Load, type Measured } from "./load.ts"
import { measurePostgres } from "./postgres.ts"
import { measureLifetime } from "./lifetime.ts"
import { measureQueries } from "./queries.ts"
import { measureSearchLag, type SearchLag } from "./search-lag.ts"
import { measureSegments } from "./segments.ts"
import { measureStress } from "./stress.ts"
import { compareVersions } from "./versions.ts"
import { measureWeb } from "./web.ts"
import { median, quantile } from "../median.ts"

const { values } = parseArgs({
  options: {
    entries: { type: "string", default: "1000000" },
    large: { type: "boolean", default: false },
    seconds: { type: "string", default: "5" },
    turns: { type: "string", default: "3" },
    against: { type: "string" },
    search: { type: "boolean", default: false },
    web: { type: "boolean", default: false },
    followers: { type: "string" },
    garbage: { type: "boolean", default: false },
    peers: { type: "boolean", default: false },
    postgres: { type: "boolean", default: false },
    lifetime: { type: "boolean", default: false },
  },
})
const entries = values.large ? 10_000_000 : Number(values.entries)
const seconds = Number(values.seconds)
const turns = Number(values.turns)

const folder = mkdtempSync(join(tmpdir(), "tallystick-bench-"))
try {
  say(
    `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.version}; the load generator runs on them too\n`,
  )
  if (values.search) for (const line of measureSegments(entries)) say(line)
  else if (values.garbage)
    await table(
      "writes, KiB that main allocates for an event, of it grows old",
      measureGarbage({ folder, seconds }),
    )
  else if (values.peers) await peers()
  else if (values.web)
    await table("the dashboard in a browser, measured", measureWeb({ folder, entries, turns }))
  else if (values.postgres)
    await table("on PostgreSQL, measured", measurePostgres({ folder, turns, seconds, entries }))
  else if (values.lifetime)
    await table(
      "as entries grow old, measured",
      measureLifetime({ folder, entries, turns, seconds }),
    )
  else if (values.large) await growth()
  else if (values.followers !== undefined)
    await table(
      "who, follow, of a core while nothing is written, written, p50 and p99 ms, µs each, seen by each",
      measureFollowers({ folder, followers: Number(values.followers), turns, seconds }),
    )
  else if (values.against === undefined) {
    await ratios()
    await peers()
    await growth()
    await stress()
  } else
    await table(
      "writes, version, events/s, µs of processor time an event, p99 ms",
      compareVersions({ before: values.against, folder, turns, seconds }),
    )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Single events and batches against a server that only reads, parses and answers. */
async function ratios(): Promise<void> {
  const bare = await startBare()
  const service = await startService(join(folder, "ratios"))
  const writer = await makeWriter(service.url, "bench")
  const cases = [
    { name: "single, 64 connections", connections: 64, batch: 0 },
    { name: "single, 256 connections", connections: 256, batch: 0 },
    { name: "batches of 100, 8 connections", connections: 8, batch: 100 },
  ]
  // A turn that is not counted: both programs are compiled while they run.
  for (const { connections, batch } of cases)
    await pair(
      bare,
      service,
      writer,
      connections,
      batch,
      Math.min(seconds, 3),
      `warm-${connections}-${batch}`,
    )
  say("durable events against a bare node:http server (medians of turns)\n")
  say("| writes | bare requests/s | durable events/s | ratio | p50 ms | p99 ms | resident MB |")
  say("| --- | --- | --- | --- | --- | --- | --- |")
  for (const { name, connections, batch } of cases) {
    const pairs: { bare: Measured; ours: Measured }[] = []
    for (let turn = 0; turn < turns; turn++)
      pairs.push(
        await pair(
          bare,
          service,
          writer,
          connections,
          batch,
          seconds,
          `turn-${turn}-${connections}-${batch}`,
        ),
      )
    const ratio = median(pairs.map(({ bare: b, ours }) => rate(ours) / (b.requests / b.seconds)))
    const row = [
      name,
      whole(median(pairs.map(({ bare: b }) => b.requests / b.seconds))),
      whole(median(pairs.map(({ ours }) => rate(ours)))),
      ratio.toFixed(2),
      median(pairs.map(({ ours }) => ours.p50Ms)).toFixed(1),
      median(pairs.map(({ ours }) => ours.p99Ms)).toFixed(1),
      whole(service.residentMb()),
    ]
    say(`| ${row.join(" | ")} |`)
  }
  await bare.stop()
  await service.stop()
  say("")
}

async function pair(
  bare: Program,
  service: Program,
  writer: Load["writers"][number],
  connections: number,
  batch: number,
  forSeconds: number,
  run: string,
) {
  const common = { seconds: forSeconds, writers: [writer], run: `${run}-key` }
  const first = await runLoad({
    ...common,
    url: bare.url,
    connections: Math.max(connections, 64),
    batch: 0,
  })
  const ours = await runLoad({ ...common, url: service.url, connections, batch })
  if (ours.refused > 0) say(`(${ours.refused} requests were refused)`)
  return { bare: first, ours }
}

/** In turns with a simple ledger in a database. */
async function peers(): Promise<void> {
  const peer = await startPostgres()
  if (peer === undefined) return say("no peers were measured: PostgreSQL is not installed\n")
  const service = await startService(join(folder, "peers"))
  const writer = await makeWriter(service.url, "large")
  const [connections, batch] = [8, 100]
  const load = { url: service.url, connections, seconds, batch, writers: [writer] }
  const measured = { ours: [] as Rate[], theirs: [] as Rate[] }
  // The first turn is not counted: programs are compiled while they run.
  for (let turn = 0; turn <= turns; turn++) {
    const theirs = await rateOf(peer, () => peer.measure(batch, connections, seconds))
    const ours = await rateOf(service, async () =>
      rate(await runLoad({ ...load, run: `peers-${turn}-key` })),
    )
    if (turn === 0) continue
    measured.theirs.push(theirs)
    measured.ours.push(ours)
  }
  await peer.stop()
  await service.stop()
  const of = (who: keyof typeof measured, what: keyof Rate) =>
    median(measured[who].map((one) => one[what]))
  const ratio = median(
    measured.ours.map(({ perSecond }, at) => perSecond / (measured.theirs[at]?.perSecond ?? 0)),
  )
  say(
    `batches of ${batch}, ${connections} connections, against a chained table in PostgreSQL: ${ratio.toFixed(2)}` +
      ` (${whole(of("ours", "perSecond"))} to ${whole(of("theirs", "perSecond"))} events/s,` +
      ` ${whole(of("ours", "cpuUs"))} to ${whole(of("theirs", "cpuUs"))} µs of processor time an event)\n`,
  )
}

interface Rate {
  readonly perSecond: number
  readonly cpuUs: number
}

async function rateOf(
  program: Pick<Program, "cpuMs">,
  act: () => number | Promise<number>,
): Promise<Rate> {
  const beforeMs = program.cpuMs()
  const perSecond = await act()
  return { perSecond, cpuUs: ((program.cpuMs() - beforeMs) * 1000) / (perSecond * seconds) }
}

/** Prints each row as soon as it is measured. */
async function table(
  columns: string,
  rows: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
): Promise<void> {
  const heads = columns.split(", ")
  say(`| ${heads.join(" | ")} |`)
  say(`| ${heads.map(() => "---").join(" | ")} |`)
  for await (const row of rows) say(`| ${row.join(" | ")} |`)
}

async function stress(): Promise<void> {
  say("\nunder stress (medians of turns)\n")
  try {
    const rows = await measureStress(turns, seconds)
    await table("what, value", rows)
  } catch (error) {
    // Earlier measurements stay valid, and the output says that this one is missing.
    say(`not measured: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}

/**
 * One workspace of up to a million entries: the cost of an event meanwhile, and of reading, signing
 * and restarting at the end.
 */
async function growth(): Promise<void> {
  const data = join(folder, "growth")
  let service = await startService(data)
  const writer = await makeWriter(service.url, "large")
  const receipts: string[] = []
  let written = 0
  let residentMb = 0
  say("cost of an event as one workspace grows (batches of 100)\n")
  say("| entries | durable events/s |")
  say("| --- | --- |")
  const marks = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].map((share) =>
    Math.round(entries * share),
  )
  const rates: number[] = []
  const lag: SearchLag = { foundMs: [], unfiled: [] }
  for (const mark of marks) {
    const load = runLoad({
      url: service.url,
      connections: 8,
      seconds: 600,
      batch: 100,
      writers: [writer],
      run: `grow-${mark}-key`,
      eventsMax: mark - written,
    })
    const write = async () => {
      const run = `found-${lag.foundMs.length}`
      await writeSome(service.url, writer, run, 1)
      return sampleOf(run, 0)
    }
    await measureSearchLag(service.url, writer, write, lag, load)
    const measured = await load
    written += measured.events
    rates.push(rate(measured))
    residentMb = Math.max(residentMb, service.residentMb())
    say(`| ${written} | ${whole(rate(measured))} |`)
    receipts.push(...(await writeSome(service.url, writer, `mark-${mark}`, 20)))
    if (!values.large || mark !== entries / 10) continue
    await caughtUp(service.url)
    await queries(service.url, writer, written)
    say("| entries | durable events/s |")
    say("| --- | --- |")
  }
  const [first = 1] = rates.slice(1)
  say(
    `\nlast against first: ${((rates.at(-1) ?? 0) / first).toFixed(2)}; resident memory at most ${whole(residentMb)} MB`,
  )
  say(`checkpoint lag at full load: p99 at most ${await lagP99(service.url)} s`)
  say(
    `an event is found by a search after its receipt, at full load: median ${quantile(lag.foundMs, 0.5).toFixed(1)} ms, p99 ${quantile(lag.foundMs, 0.99).toFixed(1)} ms of ${lag.foundMs.length}; entries in no segment: median ${quantile(lag.unfiled, 0.5)}, p99 ${quantile(lag.unfiled, 0.99)}\n`,
  )

  const latencies = await verifyAll(service.url, writer, receipts)
  say(
    `receipt verification at ${written} entries: median ${quantile(latencies, 0.5).toFixed(2)} ms, p99 ${quantile(latencies, 0.99).toFixed(2)} ms\n`,
  )

  await caughtUp(service.url)
  const filingMs = service.filingMs()
  if (filingMs !== undefined)
    say(`index cost: ${((filingMs / written) * 1000).toFixed(1)} µs of processor time an event\n`)
  await queries(service.url, writer, written)

  await service.stop("SIGKILL")
  const restarts: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const started = performance.now()
    service = await startService(data)
    while ((await fetch(`${service.url}/readyz`)).status !== 200) continue
    restarts.push(performance.now() - started)
    await service.stop("SIGKILL")
  }
  say(
    `kill -9 to ready at ${written} entries: median ${whole(median(restarts))} ms, of ${restarts.length}`,
  )
  await derived(data)
  disk(data, "after the load")
  service = await startService(data)
  await settled(service, "tallystick_packed_entries_total")
  say("\nonce the bodies are packed:")
  await queries(service.url, writer, written)
  await service.stop()
  disk(data, "once the bodies are packed")
}

/** Of the load generator's events. */
function disk(data: string, when: string): void {
  say(
    `\nbytes on the disk for an event, whose request has a body of ${eventBody("large", 500_000).length} bytes with two personal fields, ${when}\n`,
  )
  say("| what | bytes |")
  say("| --- | --- |")
  for (const [what, bytes] of measureDisk(data)) say(`| ${what} | ${whole(bytes)} |`)
}

/**
 * With the service stopped. Memory at the beginning and at the most shows whether it grows with the
 * ledger.
 */
async function derived(data: string): Promise<void> {
  say("\nfsck, each pass in a process of its own\n")
  say("| pass | entries/s | resident MB at 100,000 | at most |")
  say("| --- | --- | --- | --- |")
  for (const pass of ["chain", "contents", "index"]) {
    const { perSecond, earlyMb, mostMb } = await runFsck(data, pass)
    say(
      `| ${pass} | ${whole(perSecond)} | ${earlyMb === undefined ? "" : whole(earlyMb)} | ${whole(mostMb)} |`,
    )
  }
}

/** How long it takes, after the load has ended, until no segment of the search is due any more. */
async function caughtUp(url: string): Promise<void> {
  const started = performance.now()
  while ((await metric(url, 'tallystick_follower_lag_entries{follower="filing"}')) > 0)
    await sleep(10)
  say(
    `the search has caught up ${((performance.now() - started) / 1000).toFixed(1)} s after the load\n`,
  )
}

async function queries(
  url: string,
  writer: Load["writers"][number],
  written: number,
): Promise<void> {
  const {
    latencies,
    written: beside,
    refused,
  } = await measureQueries(url, writer, written, Math.min(1, entries / 1_000_000))
  say(
    `queries over ${written} entries, at random depths, while 2,000 events a second are written\n`,
  )
  say("| queries | matches (median) | p50 ms | p99 ms |")
  say("| --- | --- | --- | --- |")
  for (const { name, matched, p50Ms, p99Ms } of latencies)
    say(`| ${name} | ${matched} | ${p50Ms.toFixed(1)} | ${p99Ms.toFixed(1)} |`)
  say(`\n${beside} events were written meanwhile, ${refused} requests were refused\n`)
}

async function writeSome(
  url: string,
  { workspace, key }: Load["writers"][number],
  run: string,
  count: number,
): Promise<string[]> {
  const receipts: string[] = []
  for (let at = 0; at < count; at++) {
    const response = await fetch(`${url}/v1/events`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "idempotency-key": sampleOf(run, at),
        "content-type": "application/json",
      },
      body: JSON.stringify({
        workspaceId: workspace,
        projectId: "core",
        action: "bench.sample.write",
        actor: { id: "usr_1", type: "user", email: "someone@example.com" },
        target: { id: sampleOf(run, at), type: "sample" },
        occurredAt: "2026-01-01T00:00:00Z",
        source: "api",
      }),
    })
    // A 202 is a receipt.
    receipts.push(((await response.json()) as { receipt: string }).receipt)
  }
  return receipts
}

function sampleOf(run: string, at: number): string {
  return `${run}-sample-${at}`
}

async function verifyAll(
  url: string,
  { workspace, key }: Load["writers"][number],
  receipts: readonly string[],
): Promise<number[]> {
  const latencies: number[] = []
  for (let round = 0; round < 3; round++) {
    for (const receipt of receipts) {
      const started = performance.now()
      const response = await fetch(`${url}/v1/workspaces/${workspace}/receipts/${receipt}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const { verified } = (await response.json()) as { verified: boolean }
      if (!verified) throw new Error(`receipt ${receipt} does not verify`)
      latencies.push(performance.now() - started)
    }
  }
  return latencies
}

/** The upper bound of the bucket that holds the 99th percentile. */
async function lagP99(url: string): Promise<string> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const buckets = [
    ...text.matchAll(/^tallystick_checkpoint_lag_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm),
  ].map(([, le = "", count]) => ({
    le,
    count: Number(count),
  }))
  const all = buckets.at(-1)?.count ?? 0
  return buckets.find(({ count }) => count >= all * 0.99)?.le ?? "?"
}

function rate({ events, seconds: took }: Measured): number {
  return events / took
}

function whole(number: number): string {
  return number.toFixed(0)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
