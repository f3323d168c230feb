import assert from "node:assert/strict"
import test from "node:test"
import { PartyLines } from "./party-lines.ts"

test("parties take turns, and the work of a party keeps its order", async () => {
  const lines = new PartyLines()
  const done: string[] = []
  for (const name of ["a1", "a2", "b1", "a3"])
    void lines.wait(name.charAt(0)).then(() => done.push(name))
  while (!lines.isEmpty) lines.resume()
  void lines.wait("a").then(() => done.push("a4"))
  lines.resume()
  lines.resume()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(done.join(" "), "a1 b1 a2 a3 a4")
})

test("a turn costs no more when very many wait", () => {
  const usOf = (waiting: number): number => {
    const lines = new PartyLines()
    for (let count = 0; count < waiting; count++) void lines.wait("a")
    const before = process.cpuUsage()
    for (let count = 0; count < 4000; count++) lines.resume()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  usOf(4000)
  const [few, many] = [usOf(4000), usOf(200_000)]
  assert.ok(many < 100 * Math.max(few, 1000), `${many} and ${few} µs`)
})
