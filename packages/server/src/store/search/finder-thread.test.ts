import assert from "node:assert/strict"
import test from "node:test"
import { setImmediate } from "node:timers/promises"
import { finderQuestions } from "./finder-thread.ts"
import type { Turns } from "./segments.ts"

test("a search that is dropped ends where it paused", async () => {
  const ended: string[] = []
  async function* find(workspace: string): Turns<undefined> {
    try {
      for (;;) yield undefined
    } finally {
      ended.push(workspace)
    }
  }
  const store = {
    journal: { at: () => assert.fail("unread"), recordsAt: () => assert.fail("unread") },
    index: { checkpoint: () => assert.fail("unread") },
    fewLeaves: () => assert.fail("unread"),
  }
  const thread = finderQuestions({ find, count: find, begin: () => {} }, store)
  const first = await thread.find(undefined, "first", { system: "with" }, 1, 1)
  assert.equal(typeof first, "number")
  const second = await thread.countMatches("second", { system: "with" }, { kind: "days" })
  assert.equal(await thread.goOn(undefined, Number(second)), second)
  thread.drop(Number(second))
  await setImmediate()
  assert.deepEqual(ended, ["second"])
  thread.drop(Number(second))
  assert.equal(await thread.goOn(undefined, Number(first)), first)
  await assert.rejects(thread.goOn(undefined, Number(second)), /only an unfinished search/)
})
