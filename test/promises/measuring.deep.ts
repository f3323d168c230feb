import assert from "node:assert/strict"
import { test } from "node:test"
import { startProgram } from "../crash/programs.ts"
import { eventFor, eventually, makeWorkspace } from "../service.ts"
import { atLength } from "./at-length.ts"
import { expectKept } from "./kept.ts"
import { offer } from "./offered.ts"
import { expectShedding, overload } from "./overload.ts"
import { besideSlowClients, expectUndisturbed } from "./slow-clients.ts"

// Promises 10, 13 and 14 at length. These measure how quick the service is, so nothing runs beside them.

test("4,500 slow sockets", async (t) => {
  const slowed = await besideSlowClients({ sockets: 4500, turns: 3, requests: 1000, pace: 6 })
  t.diagnostic(JSON.stringify(slowed))
  expectUndisturbed(slowed)
})

test("half an hour of overload", async (t) => {
  await atLength(t, { what: "seconds", wanted: 1800, minutes: 11, floor: 180 }, async () => {
    const overloaded = await overload({ turns: 3, peakSeconds: 5, overSeconds: 55 })
    t.diagnostic(JSON.stringify(overloaded))
    expectShedding(overloaded)
    assert.ok(overloaded.offered >= 10_000)
    return 3 * 60
  })
})

test("a million entries, killed a hundred times, and ready within two seconds", async (t) => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const from = { url: first.url, workspace: workspace.id, key: workspace.writer.bearer ?? "", run: "fill", connections: 8, batch: 100 }
  let entries = 0
  for (let part = 0; entries < 1_000_000; part++) entries += (await offer({ ...from, run: `fill-${part}`, seconds: 10 })).events
  await first.end("SIGKILL")
  const startsMs: number[] = []
  await atLength(t, { what: "starts", wanted: 100, minutes: 5, floor: 20 }, async () => {
    const startedMs = performance.now()
    await using service = await startProgram({ data: first.data })
    await eventually("it to be ready", async () => ((await service.client().get("/readyz")).status === 200 ? true : undefined))
    startsMs.push(performance.now() - startedMs)
    assert.equal((await service.client(workspace.writer.bearer).write(eventFor(workspace.id))).status, 202)
    await service.end("SIGKILL")
    return 1
  })
  const [median = 0, p99 = 0] = [0.5, 0.99].map((share) => startsMs.toSorted((a, b) => a - b)[Math.floor(share * startsMs.length)] ?? 0)
  const kept = await expectKept(first.data, workspace.id)
  t.diagnostic(`${kept.size} entries; ready after ${Math.round(median)} ms, at p99 ${Math.round(p99)} ms`)
  assert.ok(kept.size >= entries + startsMs.length)
  assert.ok(p99 <= 2000, `at p99 it took ${Math.round(p99)} ms`)
})
