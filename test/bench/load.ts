// The load generator: keep-alive connections over plain sockets, each with one request under way.
// It shares the machine with what it measures, so it does as little as it can: requests are made
// from a template, answers are read only as far as their length.
//
//   node test/bench/load.ts '{"url":…,"connections":…,"seconds":…,"batch":…,"key":…,"run":…,"workspaces":…}'   → one line of JSON

import { connect, type Socket } from "node:net"

export interface Load {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  /** Events in a request; 0 writes them one by one. */
  readonly batch: number
  /** A bearer for each workspace that is written to. */
  readonly writers: readonly { readonly workspace: string; readonly key: string }[]
  /** Makes the keys of this run different from those of others. */
  readonly run: string
  /** Stop after about so many events, if they come first. */
  readonly eventsMax?: number
  /** At most this many events a second, over all connections. */
  readonly perSecond?: number
  /** Each of these people does one event of a hundred. */
  readonly people?: readonly string[]
}

export interface Measured {
  readonly events: number
  readonly requests: number
  readonly refused: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const actions = [
  "billing.invoice.approve",
  "auth.session.start",
  "report.export.create",
  "policy.terms.accept",
  "billing.card.change",
] as const
const projects = ["core", "core", "shop", "desk"] as const

const given = process.argv[2]
if (given !== undefined && import.meta.main) {
  // Only run.ts starts it, with a Load.
  process.stdout.write(`${JSON.stringify(await load(JSON.parse(given) as Load))}\n`)
  process.exit(0)
}

async function load(given: Load): Promise<Measured> {
  const { hostname, port } = new URL(given.url)
  const latencies: number[] = []
  const state = { count: 0, events: 0, refused: 0, stop: false }
  const started = performance.now()
  const stop = (): void => void (state.stop = true)
  const timer = setTimeout(stop, given.seconds * 1000)
  process.once("SIGTERM", stop)
  await Promise.all(
    Array.from({ length: given.connections }, (_, connection) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      return speak(socket, given, connection, latencies, state)
    }),
  )
  clearTimeout(timer)
  const seconds = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return {
    events: state.events,
    requests: latencies.length,
    refused: state.refused,
    seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  }
}

function speak(
  socket: Socket,
  given: Load,
  connection: number,
  latencies: number[],
  state: { count: number; events: number; refused: number; stop: boolean },
): Promise<void> {
  const writer = given.writers[connection % given.writers.length] ?? {
    workspace: "none",
    key: "none",
  }
  return new Promise((resolve, reject) => {
    let sentMs = 0
    let dueMs = performance.now()
    const everyMs =
      given.perSecond === undefined
        ? 0
        : (1000 * given.connections * Math.max(given.batch, 1)) / given.perSecond
    let missing = 0
    let head = ""
    const send = () => {
      if (state.stop || (given.eventsMax !== undefined && state.events >= given.eventsMax)) {
        socket.end()
        resolve()
        return
      }
      const earlyMs = everyMs > 0 ? dueMs - performance.now() : 0
      if (earlyMs > 0) {
        setTimeout(send, earlyMs)
        return
      }
      dueMs += everyMs
      sentMs = performance.now()
      socket.write(requestOf(given, writer, state.count++), "latin1")
    }
    const done = (status: string) => {
      latencies.push(performance.now() - sentMs)
      if (status === "202" || status === "200") state.events += Math.max(given.batch, 1)
      else state.refused += 1
      send()
    }
    socket.on("connect", send)
    socket.on("error", reject)
    let status = ""
    socket.on("data", (chunk: Buffer) => {
      if (missing > 0) {
        missing -= chunk.length
        if (missing <= 0) done(status)
        return
      }
      head += chunk.toString("latin1")
      const end = head.indexOf("\r\n\r\n")
      if (end < 0) return
      status = head.slice(9, 12)
      const length = /content-length: (\d+)/i.exec(head)?.[1] ?? "0"
      missing = Number(length) - (head.length - end - 4)
      head = ""
      if (missing <= 0) done(status)
    })
  })
}

function requestOf(
  given: Load,
  { workspace, key }: Load["writers"][number],
  count: number,
): string {
  const body =
    given.batch === 0 ? eventBody(workspace, count, given.people) : batchOf(given, workspace, count)
  const path = given.batch === 0 ? "/v1/events" : "/v1/events/batch"
  const idempotency = given.batch === 0 ? `Idempotency-Key: ${given.run}-${count}\r\n` : ""
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${idempotency}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

function batchOf({ batch, run, people }: Load, workspace: string, count: number): string {
  let events = ""
  for (let at = 0; at < batch; at++) {
    events += `${at === 0 ? "" : ","}{"idempotencyKey":"${run}-${count}-${at}",${eventOf(workspace, count * batch + at, people)}}`
  }
  return `{"events":[${events}]}`
}

/** The body of a request with one event. */
export function eventBody(workspace: string, count: number, people?: Load["people"]): string {
  return `{${eventOf(workspace, count, people)}}`
}

/** An ordinary event of an application. Two of its fields are sealed. */
function eventOf(workspace: string, count: number, people: Load["people"] = []): string {
  const person = people[count % 100] ?? `usr_${count % 5000}`
  return (
    `"workspaceId":"${workspace}","projectId":"${projects[count % projects.length]}","action":"${actions[count % actions.length]}",` +
    `"actor":{"id":"${person}","type":"user","email":"user${count % 5000}@example.com"},` +
    `"target":{"id":"inv_${count}","type":"invoice","name":"Invoice ${count}"},"occurredAt":"2026-01-01T09:30:00.250Z",` +
    `"source":"api","metadata":{"amount":1299.5,"currency":"EUR","reason":"within the limit of the approver"},"userVisible":true`
  )
}
