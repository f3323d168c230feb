import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { expectChain } from "../chain.ts"
import {
  eventFor,
  eventually,
  makeWorkspace,
  type Reply,
  type Service,
  type Workspace,
} from "../service.ts"
import { startProgram } from "./programs.ts"
import { skipUnlessStrict } from "./strict.ts"
import { delaySyncs, noTracer } from "./tracer.ts"
import { untilReady } from "../until.ts"

// Promise 7, a disk that hangs: a write is not acknowledged before its sync, and further writes are
// refused meanwhile.

const syncSeconds = 10
const queued = 20
const skip = skipUnlessStrict(noTracer())

test(
  "while an fsync takes ten seconds nothing is acknowledged, the service is not ready, and reads go on",
  { skip },
  async () => {
    await using service = await startProgram({
      environment: { TALLYSTICK_LIMIT_QUEUED_EVENTS_MAX: String(queued) },
    })
    const workspace = await makeWorkspace(service)
    const before = await workspace.writer.write(eventFor(workspace.id))
    const tracer = await delaySyncs(service.process.pid ?? 0, syncSeconds, [
      join(service.data, "journal.db-wal"),
    ])
    const startedMs = performance.now()
    const elapsedMs = (): number => performance.now() - startedMs
    const held = Array.from({ length: queued }, async (_, at): Promise<[Reply, number]> => {
      const reply = await workspace.writer.write(eventFor(workspace.id, { metadata: { at } }))
      return [reply, elapsedMs()]
    })
    try {
      await eventually(
        "the service to say that it is not ready",
        async () => await saysSlow(service),
      )
      const read = await workspace.reader.get(`${workspace.path}/receipts/${before.json().receipt}`)
      assert.equal(read.status, 200)
      assert.ok(elapsedMs() < syncSeconds * 1000, "all of this is answered while the disk hangs")
    } finally {
      await Promise.race([Promise.all(held), sleep((syncSeconds + 5) * 1000)])
      await tracer.stop()
    }
    const answers = await Promise.all(held)
    for (const [{ status, text }, tookMs] of answers) {
      const isLate = tookMs > (syncSeconds - 1) * 1000
      assert.ok(
        status === 202 ? isLate : !isLate && text.includes('"overloaded"'),
        `${text} after ${Math.round(tookMs)} ms`,
      )
    }
    const acknowledged = answers.map(([reply]) => reply).filter(({ status }) => status === 202)
    assert.ok(
      acknowledged.length >= queued / 2 && acknowledged.length < queued,
      "some find room, and the others are refused before the disk is asked",
    )
    await untilReady(service)
    await expectAll(workspace, [before, ...acknowledged])
  },
)

async function saysSlow(service: Service): Promise<true | undefined> {
  const { status, text } = await service.client().get("/readyz")
  if (status === 200) return undefined
  assert.match(
    text,
    /"reason":"(the storage has not answered for \d+ milliseconds|\d+ of \d+ events wait)"/,
  )
  return true
}

async function expectAll({ id, reader }: Workspace, replies: readonly Reply[]): Promise<void> {
  await expectChain(
    reader,
    id,
    replies.map((reply) => reply.json()),
  )
}
