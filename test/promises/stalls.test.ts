import assert from "node:assert/strict"
import { join } from "node:path"
import { after, test } from "node:test"
import { expectChain } from "../chain.ts"
import { eventFor, eventually, makeWorkspace, startService } from "../service.ts"
import { hostileMembers } from "./hostile-bodies.ts"

// No body holds the thread that all requests share for long, whatever its bytes: refused or taken, alone or in a batch. The bound is 50 ms of a processor;
// twice that is let pass, because on a busy machine a processor is slower too. Read at once, the largest of these bodies take a second.

const stallMsMax = 100
const eventBytes = 256 * 1024
const batchBytes = 8 * 1024 * 1024

const service = await startService({ program: join(import.meta.dirname, "measured-turns.ts"), arguments: [] })
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)

/** Of the turns since it was asked last. */
async function longestTurnMs(): Promise<number> {
  const said = (): readonly RegExpExecArray[] => [...service.output().matchAll(/^longest turn: ([\d.]+) ms$/gm)]
  const before = said().length
  service.process.kill("SIGUSR2")
  return Number((await eventually("the longest turn is told", async () => said()[before]))[1])
}

/** Sends a body, and expects one of these answers and no stall. */
async function expectNoStall(about: string, path: string, body: Buffer | string, statuses: readonly number[]): Promise<void> {
  const headers = path === "/v1/events/batch" ? {} : { "idempotency-key": crypto.randomUUID() }
  await longestTurnMs()
  const reply = await acme.writer.post(path, body, headers)
  const turnMs = await longestTurnMs()
  assert.ok(statuses.includes(reply.status), `${about}: ${reply.status} ${reply.text.slice(0, 200)}`)
  assert.ok(turnMs <= stallMsMax, `${about}, ${Buffer.byteLength(body)} bytes: the thread was held for ${turnMs} ms`)
}

/** An event with these members in one of its objects, or beside its own. */
function eventWith(members: string, where: "metadata" | "actor" | "event", fields = {}): string {
  const event = JSON.stringify({ ...fields, ...eventFor(acme.id), metadata: { a: 0 } })
  if (where === "metadata") return event.replace('"metadata":{"a":0}', () => `"metadata":{${members}}`)
  return where === "actor" ? event.replace('"actor":{', () => `"actor":{${members},`) : `{${members},${event.slice(1)}`
}

function batchOf(items: number, make: (bytes: number) => string): string {
  const room = Math.floor((batchBytes - 100) / items) - 700
  return `{"events":[${Array.from({ length: items }, () => eventWith(make(room), "metadata", { idempotencyKey: crypto.randomUUID() })).join(",")}]}`
}

test("an event of 256 KiB", async () => {
  for (const [name, make] of Object.entries(hostileMembers)) {
    for (const where of ["metadata", "actor", "event"] as const)
      await expectNoStall(`${name} in ${where}`, "/v1/events", eventWith(make(eventBytes - 1000), where), [202, 400])
  }
  const notUtf8 = Buffer.from(eventWith('"a":"\u0001"', "metadata").replace("\\u0001", "x".repeat(60_000)))
  notUtf8[notUtf8.lastIndexOf("x")] = 0xff
  await expectNoStall("not UTF-8 at the end", "/v1/events", notUtf8, [400])
})

test("a batch of 8 MiB that is refused", async () => {
  const bodies: Record<string, string> = {
    "290,000 small objects and events twice": `{"events":[${Array.from({ length: 290_000 }, () => '{"a":1}').join(",")}],"events":[]}`,
    "an unknown member": `{"a":[${" ".repeat(batchBytes - 100)}],"events":[]}`,
    "white space": `{"events":[{}${" ".repeat(batchBytes - 100)}],"events":[]}`,
    "a thousand events, the last with a member twice": batchOf(1000, hostileMembers["short names"] as (bytes: number) => string).replace(
      /\}\]\}$/,
      ',"source":"api"}]}',
    ),
  }
  for (const [name, make] of Object.entries(hostileMembers)) {
    bodies[`${name} in one event, then no JSON`] = `{"events":[{${make(batchBytes - 100)}}`
  }
  for (const [about, body] of Object.entries(bodies)) await expectNoStall(about, "/v1/events/batch", body, [400])
})

test("a batch of 8 MiB that is taken, or refused event by event", async () => {
  for (const name of ["small objects", "short names", "escaped names", "letters of two bytes"]) {
    const make = hostileMembers[name] as (bytes: number) => string
    for (const items of [1000, 31]) await expectNoStall(`${items} events, ${name}`, "/v1/events/batch", batchOf(items, make), [202])
  }
  const wrong = Array.from({ length: 31 }, () =>
    eventWith((hostileMembers["short names"] as (bytes: number) => string)(eventBytes - 1000), "event"),
  )
  await expectNoStall("unknown fields by the thousand", "/v1/events/batch", `{"events":[${wrong.join(",")}]}`, [202])
  const event = JSON.stringify({ ...eventFor(acme.id), idempotencyKey: crypto.randomUUID() })
  const tooLarge = `{"events":[${event},{${(hostileMembers["small objects"] as (bytes: number) => string)(batchBytes - 1000)}}]}`
  await expectNoStall("one event of 8 MiB", "/v1/events/batch", tooLarge, [202])
  await expectChain(service.root, acme.id)
})
