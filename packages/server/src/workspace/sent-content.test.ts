import assert from "node:assert/strict"
import { Readable, Writable } from "node:stream"
import test from "node:test"
import { TestClock } from "../runtime/test-clock.ts"
import { createSending } from "./sent-content.ts"

const soon = () => new Promise((resolve) => setImmediate(resolve))

function openSending() {
  const clock = new TestClock()
  const limits = { atOnceMax: 2, perWorkspaceMax: 1, waitingMax: 10, waitMs: 20_000 }
  const send = createSending(clock, { ...limits, of: "things", stillMs: 5000 })
  const cut: string[] = []
  /** Sends without end to a client that takes a chunk when it is told to. */
  const begin = async (workspace: string) => {
    let taken = () => {}
    const client = new Writable({ highWaterMark: 1, write: (_, __, done) => void (taken = done) })
    const chunks = function* () {
      for (;;) yield Buffer.alloc(1024)
    }
    const { content } = await send(workspace, undefined, async () => ({
      content: Readable.from(chunks()),
    }))
    content.once("error", () => cut.push(workspace)).pipe(client)
    await soon()
    return { take: () => taken(), leave: () => content.destroy() }
  }
  const pass = async (seconds: number): Promise<void> => {
    for (let at = 0; at < seconds; at++) {
      clock.advance(1000)
      for (let turn = 0; turn < 5; turn++) await soon()
    }
  }
  return { begin, pass, cut }
}

test("a client that reads nothing loses its place to a workspace that waits, and one that reads keeps it", async () => {
  const { begin, pass, cut } = openSending()
  const reading = await begin("reading")
  await begin("still")
  await pass(60)
  assert.deepEqual(cut, [], "nobody waits")
  reading.take()
  await soon()
  const other = begin("other")
  await pass(2)
  assert.deepEqual(cut, ["still"])
  await other
  const next = begin("next")
  for (let at = 0; at < 3; at++) {
    reading.take()
    await pass(1)
  }
  assert.deepEqual(cut, ["still"], "other has its place for less than five seconds")
  await pass(3)
  assert.deepEqual(cut, ["still", "other"])
  await next
})

test("a client that reads nothing keeps its place while only its own workspace waits", async () => {
  const { begin, pass, cut } = openSending()
  const still = await begin("still")
  const second = begin("still")
  await pass(10)
  assert.deepEqual(cut, [])
  still.leave()
  await second
})
