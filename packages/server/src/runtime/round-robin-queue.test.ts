import assert from "node:assert/strict"
import test from "node:test"
import { RoundRobinQueue } from "./round-robin-queue.ts"

test("senders take turns, and the work of one sender keeps its order", async () => {
  const queue = new RoundRobinQueue()
  const done: string[] = []
  for (const name of ["a1", "a2", "b1", "a3"])
    void queue.wait(name.charAt(0)).then(() => done.push(name))
  while (!queue.isEmpty) queue.resume()
  void queue.wait("a").then(() => done.push("a4"))
  queue.resume()
  queue.resume()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(done.join(" "), "a1 b1 a2 a3 a4")
})

test("a turn costs no more when very many wait", () => {
  const usOf = (waiting: number): number => {
    const queue = new RoundRobinQueue()
    for (let count = 0; count < waiting; count++) void queue.wait("a")
    const before = process.cpuUsage()
    for (let count = 0; count < 4000; count++) queue.resume()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  usOf(4000)
  const [few, many] = [usOf(4000), usOf(200_000)]
  assert.ok(many < 100 * Math.max(few, 1000), `${many} and ${few} µs`)
})
