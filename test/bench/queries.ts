// Reading while somebody writes: pages of every kind at random depths of a large workspace, each
// with its exact total.

import { randomUUID } from "node:crypto"
import { Agent, request } from "node:http"
import type { Load } from "./load.ts"
import { rootKey, runLoad } from "./programs.ts"
import { createChance, type Chance } from "../chance.ts"
import { quantile } from "../median.ts"

interface Asked {
  readonly path: string
  readonly bearer: string
}

interface Kind {
  readonly name: string
  readonly count: number
  readonly ask: (chance: Chance) => Asked
}

export interface Latencies {
  readonly name: string
  readonly p50Ms: number
  readonly p99Ms: number
  /** The median of the number of matched entries. */
  readonly matched: number
}

const people = 5000
/**
 * Asks each kind of query in turn while 2,000 events a second are written, and returns what the
 * writers recorded meanwhile.
 */
export async function measureQueries(
  url: string,
  writer: Load["writers"][number],
  entries: number,
  scale: number,
): Promise<{
  readonly latencies: readonly Latencies[]
  readonly written: number
  readonly refused: number
}> {
  const { workspace, key } = writer
  const path = `/v1/workspaces/${workspace}`
  await askJson(url, "PATCH", `${path}/projects/core`, rootKey, { activityLinks: true })
  const tokens = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      // All entries of every fourth person are in `core`.
      const body = { projectId: "core", subject: { id: `usr_${at * 240}`, types: ["user"] } }
      // Its answer is the token's.
      return (
        (await askJson(url, "POST", `${path}/activity/token`, key, body)) as { token: string }
      ).token
    }),
  )
  const kinds = kindsOf(path, key, tokens, entries)
  // Written until the last question is answered, by one process: to start another would take part of
  // a second of a core.
  const ended = new AbortController()
  const load = { url, connections: 16, batch: 0, perSecond: 2000, writers: [writer] }
  const writing = runLoad({ ...load, seconds: 3600, run: `beside-${randomUUID()}` }, ended.signal)
  const latencies: Latencies[] = []
  for (const kind of kinds)
    latencies.push(await measure(url, kind, Math.max(20, Math.round(kind.count * scale))))
  ended.abort()
  const { events, refused } = await writing
  return { latencies, written: events, refused }
}

function kindsOf(
  path: string,
  key: string,
  tokens: readonly string[],
  entries: number,
): readonly Kind[] {
  const depth = (chance: Chance) => `cursor=${1 + chance.below(entries)}`
  const events = (query: string): Asked => ({ path: `${path}/events?${query}`, bearer: key })
  return [
    {
      name: "pages by filter",
      count: 1000,
      ask: (chance) => {
        const filter = chance.pick([
          "",
          "lane=security",
          "projectId=desk",
          "lane=data&projectId=core",
          "userVisible=true",
          "storage=all",
        ])
        return events(`${filter}&${depth(chance)}`)
      },
    },
    {
      name: "pages by text, selective",
      count: 1000,
      ask: (chance) => {
        const person = chance.below(people)
        const target = chance.below(entries)
        const query = chance.pick([
          `inv_${target}`,
          `actor:usr_${person}`,
          `user${person}@example.com`,
          `"Invoice ${target}"`,
        ])
        return events(`query=${encodeURIComponent(query)}&${depth(chance)}`)
      },
    },
    {
      name: "activity pages",
      count: 1000,
      ask: (chance) => ({
        path: `${path}/activity?${chance.below(2) === 0 ? depth(chance) : ""}`,
        bearer: chance.pick(tokens),
      }),
    },
    {
      name: "pages by broad prefix",
      count: 100,
      ask: (chance) =>
        events(
          `query=${encodeURIComponent(chance.pick(["inv*", "appr*", "bill*", "user*", "within the lim*"]))}&${depth(chance)}`,
        ),
    },
  ]
}

async function measure(url: string, { name, ask }: Kind, count: number): Promise<Latencies> {
  // The same questions in every run.
  const chance = createChance(7)
  const took: number[] = []
  const totals: number[] = []
  for (let at = 0; at < count; at++) {
    const { path, bearer } = ask(chance)
    const started = performance.now()
    const text = await askText(url, "GET", path, bearer)
    took.push(performance.now() - started)
    const { total, verified } = JSON.parse(text) as { total: number; verified: boolean } // a page
    if (!verified) throw new Error(`${path} does not verify`)
    totals.push(total)
  }
  return {
    name,
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    matched: quantile(totals, 0.5),
  }
}

async function askJson(
  url: string,
  method: string,
  path: string,
  bearer: string,
  body: object,
): Promise<unknown> {
  return JSON.parse(await askText(url, method, path, bearer, JSON.stringify(body)))
}

const agent = new Agent({ keepAlive: true })

/** The whole answer, as soon as it has arrived. Parsing it is not part of the measurement. */
async function askText(
  url: string,
  method: string,
  path: string,
  bearer: string,
  body?: string,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const headers = {
    authorization: `Bearer ${bearer}`,
    ...(body !== undefined && { "content-type": "application/json" }),
  }
  const asking = request(url + path, { method, agent, headers }, (answer) => {
    const chunks: Buffer[] = []
    answer.on("error", reject)
    answer.on("data", (chunk: Buffer) => chunks.push(chunk))
    answer.on("end", () => {
      const text = Buffer.concat(chunks).toString()
      if (answer.statusCode === 200 || answer.statusCode === 201) resolve(text)
      else reject(new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`))
    })
  })
  asking.on("error", reject)
  asking.end(body)
  return await promise
}
