// A writer beside followers of its workspace: none, many whose search matches nothing, and many
// that get everything. They share the machine with the service.

import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { join } from "node:path"
import type { Load } from "./load.ts"
import { makeWriter, runLoad, startService, type Program } from "./programs.ts"

export interface FollowersOptions {
  readonly folder: string
  readonly followers: number
  readonly turns: number
  readonly seconds: number
}

const perSecond = 500
const kinds = [
  { name: "nobody", share: 0, query: "" },
  { name: "followers of nothing", share: 1, query: "query=actor:nobody-at-all" },
  { name: "followers of everything", share: 1, query: "" },
] as const

type Row = readonly string[]

/** Rows of a table, in turns. */
export async function* measureFollowers(options: FollowersOptions): AsyncGenerator<Row> {
  const { folder, turns, seconds } = options
  const service = await startService(join(folder, "followers"))
  const writer = await makeWriter(service.url, "followed")
  for (let turn = 0; turn <= turns; turn++)
    for (const { name, share, query } of kinds) {
      const crowd = await follow(service, writer, Math.round(share * options.followers), query)
      const quietMs = await spent(service, () => sleep(2000))
      const run = `${turn}-${name.replaceAll(" ", "-")}-key`
      const load = { url: service.url, connections: 8, seconds, batch: 0, writers: [writer], run }
      const cpuMs = service.cpuMs()
      const { events, p50Ms, p99Ms } = await runLoad({ ...load, perSecond })
      await sleep(500)
      const eachUs = ((service.cpuMs() - cpuMs) * 1000) / events
      const seen = crowd.map(({ count }) => count).toSorted((a, b) => a - b)
      for (const { socket } of crowd) socket.destroy()
      await sleep(500)
      // A turn that is not counted: the program is compiled while it runs.
      if (turn > 0)
        yield [
          String(crowd.length),
          name,
          `${(quietMs / 20).toFixed(1)} %`,
          String(events),
          `${p50Ms.toFixed(1)} and ${p99Ms.toFixed(1)}`,
          eachUs.toFixed(0),
          `${seen[0] ?? 0} to ${seen.at(-1) ?? 0}`,
        ]
    }
  await service.stop()
}

interface Follower {
  readonly socket: Socket
  count: number
}

async function follow(
  { url }: Program,
  { workspace, key }: Load["writers"][number],
  count: number,
  query: string,
): Promise<readonly Follower[]> {
  const { hostname, port } = new URL(url)
  const headers = { accept: "application/json", authorization: `Bearer ${key}` }
  const path = `/v1/workspaces/${workspace}/events/feed`
  const place = await fetch(`${url}${path}?after=${await newest(url, workspace, key)}`, { headers })
  // The answer is the service's own.
  const { nextAfter } = (await place.json()) as { nextAfter: number }
  const request = `GET ${path}?${query} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${key}\r\naccept: text/event-stream\r\nlast-event-id: ${nextAfter}\r\n\r\n`
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(port), hostname)
      const follower: Follower = { socket, count: 0 }
      await new Promise((resolve) => {
        socket.on("data", (bytes: Buffer) => {
          for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1))
            follower.count += 1
          resolve(undefined)
        })
        socket.write(request)
      })
      return follower
    }),
  )
}

/**
 * A text that each entry of a stream has once. One that is split between two reads is not counted.
 */
const mark = Buffer.from("event: entry")

async function newest(url: string, workspace: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const page = await fetch(`${url}/v1/workspaces/${workspace}/events?limit=1`, { headers })
  return ((await page.json()) as { nextCursor: number }).nextCursor
}

async function spent(service: Program, work: () => Promise<void>): Promise<number> {
  const before = service.cpuMs()
  await work()
  return service.cpuMs() - before
}
