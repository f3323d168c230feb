// The dashboard in a real browser, over a ledger of so many entries.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import type { Browser, Page } from "playwright-core"
import { median, quantile } from "../median.ts"
import { openBrowser } from "../pages/browser.ts"
import { makeWriter, rootKey, runLoad, startService } from "./programs.ts"
import type { Load } from "./load.ts"

export interface WebOptions {
  readonly folder: string
  readonly entries: number
  readonly turns: number
}

type Row = readonly [what: string, measured: string]

const workspace = "seen"
const login = { email: "bench@example.com", password: "a password of the benchmark" }
const liveRows = 20
const scrolledMs = 8000

/** Rows of a table. */
export async function* measureWeb({ folder, entries, turns }: WebOptions): AsyncGenerator<Row> {
  yield* sizes()
  const service = await startService(join(folder, "web"))
  const writer = await makeWriter(service.url, workspace)
  await runLoad({
    url: service.url,
    connections: 8,
    seconds: 3600,
    batch: 100,
    writers: [writer],
    run: "seen-by-people-key",
    eventsMax: entries,
  })
  await invite(service.url)
  const browser = await openBrowser()
  const measured: { paint: number; rows: number; recomputed: number }[] = []
  for (let turn = 0; turn < turns; turn++) {
    // Nothing is cached: each turn is somebody's first visit.
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    const page = await signedIn(await context.newPage(), service.url)
    measured.push(await firstVisit(page, service.url))
    if (turn === turns - 1) {
      yield [`first paint, first visit, ${entries} entries`, ms(measured.map(({ paint }) => paint))]
      yield ["rows can be used", ms(measured.map(({ rows }) => rows))]
      yield ["100 rows are recomputed", ms(measured.map(({ recomputed }) => recomputed))]
      yield* await scrolling(browser, page)
      yield await live(page, service.url, writer)
      yield await chain(page, service.url)
    }
    await context.close()
  }
  await browser.close()
  await service.stop()
}

/** As they are sent. */
function* sizes(): Generator<Row> {
  const assets = join(import.meta.dirname, "../../packages/server/pages/assets")
  const files = readdirSync(assets).filter((name) => /\.(?:js|css)$/.test(name))
  const { pages } = JSON.parse(readFileSync(join(assets, "../pages.json"), "utf8")) as {
    pages: { dashboard: { script: string; style: string } }
  }
  const { script, style } = pages.dashboard
  const workers = files.filter((name) => /^(?:recompute|chain)-worker/.test(name))
  for (const name of [script, style, ...workers.map((each) => `assets/${each}`)]) {
    const bytes = gzipSync(readFileSync(join(assets, "..", name)), { level: 9 }).length
    yield [`${name.replace(/^assets\/|-[\w-]{8}(?=\.)/g, "")}, compressed`, `${bytes} bytes`]
  }
}

/** A viewer who has accepted an invitation. */
async function invite(url: string): Promise<void> {
  const invited = (await post(url, `/v1/workspaces/${workspace}/members`, {
    email: login.email,
    role: "viewer",
  })) as { setupUrl: string }
  const [token] = /tsx_\w+/.exec(invited.setupUrl) ?? []
  await post(url, "/v1/setup", { token, password: login.password })
}

async function post(url: string, path: string, body: object): Promise<unknown> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

async function signedIn(page: Page, url: string): Promise<Page> {
  const answer = await page.request.post(`${url}/v1/session`, {
    headers: { origin: url },
    data: login,
  })
  if (!answer.ok()) throw new Error(`nobody is signed in: ${await answer.text()}`)
  return page
}

async function firstVisit(page: Page, url: string) {
  await page.goto(`${url}/ui/events?workspace=${workspace}&range=all`, { waitUntil: "commit" })
  await page.locator("tr[data-sequence]").first().waitFor({ timeout: 60_000 })
  const rows = await page.evaluate<number>("performance.now()")
  await page.locator(".recomputed").waitFor({ timeout: 60_000 })
  const recomputed = await page.evaluate<number>("performance.now()")
  const paint = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0].startTime",
  )
  return { paint, rows, recomputed }
}

/**
 * Scrolls down through pages that load on the way. A frame may be late because another program has
 * the processor, so the processor time of the longest frame counts.
 */
async function scrolling(browser: Browser, page: Page): Promise<readonly Row[]> {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] })
  const frames = await page.evaluate<number[]>(`new Promise((resolve) => {
    const frames = []
    let last = performance.now()
    const end = last + ${scrolledMs}
    const step = (now) => {
      frames.push(now - last)
      last = now
      scrollBy(0, 120)
      if (now < end) requestAnimationFrame(step)
      else resolve(frames)
    }
    requestAnimationFrame(step)
  })`)
  const costs = frameCosts((await browser.stopTracing()).toString())
  const loaded = (await page.locator(".more").textContent())?.match(/^[\d,]+/)?.[0] ?? "0"
  return [
    [`frames while ${loaded} rows are scrolled through`, spread(frames)],
    ["their processor time, of the main thread and the compositor", spread(costs)],
  ]
}

function spread(values: readonly number[]): string {
  const at = (share: number): string => quantile(values, share).toFixed(0)
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`
}

interface TraceEvent {
  readonly name: string
  readonly cat: string
  readonly pid: number
  readonly tid: number
  /** The beginning, duration and processor time of a task, in microseconds. */
  readonly ts: number
  readonly dur?: number
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** The processor time of each frame, in milliseconds. */
function frameCosts(trace: string): readonly number[] {
  const { traceEvents: events } = JSON.parse(trace) as { traceEvents: readonly TraceEvent[] }
  const frames = events.filter(({ name }) => name === "FireAnimationFrame")
  const page = frames[0]?.pid
  const starts = frames.map(({ ts }) => ts).toSorted((a, b) => a - b)
  const costs = starts.map(() => 0)
  const threads = events.filter(
    ({ pid, name, args }) =>
      pid === page &&
      name === "thread_name" &&
      /^(?:CrRendererMain|Compositor)$/.test(args?.name ?? ""),
  )
  for (const { tid } of threads) {
    let [frame, endedAt] = [-1, 0]
    for (const { ts, dur = 0, tdur = 0 } of events
      .filter((event) => event.pid === page && event.tid === tid && /toplevel/.test(event.cat))
      .toSorted((a, b) => a.ts - b.ts)) {
      // A task within another one is part of its time.
      if (ts < endedAt) continue
      endedAt = ts + dur
      while ((starts[frame + 1] ?? Infinity) <= endedAt) frame += 1
      if (frame >= 0) costs[frame] = (costs[frame] ?? 0) + tdur / 1000
    }
  }
  return costs
}

/** From the answer to a write until its row is seen. */
async function live(page: Page, url: string, writer: Load["writers"][number]): Promise<Row> {
  await page.evaluate("scrollTo(0, 0)")
  await page.keyboard.press("l")
  await page.locator('.live[aria-pressed="true"]').waitFor()
  const seen: number[] = []
  for (let row = 0; row < liveRows; row++) {
    const name = `live-row-${row}`
    const shown = page.evaluate<number>(
      `new Promise((resolve) => {
        const look = () => document.querySelector('.entries')?.textContent.includes('${name}')
          ? resolve(Date.now()) : requestAnimationFrame(look)
        look()
      })`,
    )
    const response = await fetch(`${url}/v1/events`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${writer.key}`,
        "content-type": "application/json",
        "idempotency-key": `${name}-of-the-benchmark`,
      },
      body: JSON.stringify({
        workspaceId: writer.workspace,
        projectId: "core",
        action: "bench.row.seen",
        actor: { id: "bench", type: "service" },
        target: { id: name, type: "row" },
        occurredAt: new Date().toISOString(),
        source: "api",
      }),
    })
    if (response.status !== 202) throw new Error(await response.text())
    const answered = Date.now()
    seen.push((await shown) - answered)
    // Slower than what is counted instead of shown.
    await sleep(120)
  }
  return [
    "a new row is seen after its 202",
    `median ${median(seen)} ms, at most ${Math.max(...seen)} ms, of ${seen.length}`,
  ]
}

async function chain(page: Page, url: string): Promise<Row> {
  await page.goto(`${url}/ui/chain?workspace=${workspace}`)
  await page.getByRole("button", { name: "Verify everything" }).click()
  const result = page.getByText(/ a second/).first()
  await result.waitFor({ timeout: 600_000 })
  const text = (await result.textContent()) ?? ""
  return [
    "the chain, verified in the browser",
    /[\d.]+ s, [\d,]+ a\s+second/.exec(text)?.[0] ?? text,
  ]
}

function ms(values: readonly number[]): string {
  return `${median(values).toFixed(0)} ms (median of ${values.length})`
}
