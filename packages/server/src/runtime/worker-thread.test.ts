import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { answer, givenToThread, startThread, startWhenAsked } from "./worker-thread.ts"

// This file is also the module of the threads that it starts.

type Questions = { double(number: number): number }

const given = givenToThread<{ readonly canStart: boolean }>(import.meta.filename)
if (given === undefined) {
  const onDeath = (cause: Error): never => assert.fail(cause)
  const isUnavailable = (error: unknown): boolean =>
    error instanceof LedgerError && error.code === "ledger_unavailable"

  const countStarts = (canStart: (starts: number) => boolean) => {
    let starts = 0
    const thread = startWhenAsked(() => {
      starts += 1
      const given = { canStart: canStart(starts) }
      return startThread<Questions>(import.meta.filename, given, { onDeath })
    })
    return { thread, starts: () => starts }
  }

  test("a thread starts with its first question, and once", async () => {
    const counted = countStarts(() => true)
    assert.equal(counted.starts(), 0)
    const { thread } = counted
    assert.deepEqual(await Promise.all([thread.ask("double", 1), thread.ask("double", 2)]), [2, 4])
    assert.equal(await thread.ask("double", 3), 6)
    assert.equal(counted.starts(), 1)
    await thread.close()
  })

  test("a thread answers questions from before its close, and none after it", async () => {
    const { thread } = countStarts(() => true)
    const [answered] = await Promise.all([thread.ask("double", 4), thread.close()])
    assert.equal(answered, 8)
    await assert.rejects(thread.ask("double", 5), isUnavailable)
  })

  test("an unused thread does not start at its close", async () => {
    const counted = countStarts(() => true)
    await counted.thread.close()
    await assert.rejects(counted.thread.ask("double", 1), isUnavailable)
    assert.equal(counted.starts(), 0)
  })

  test("a thread that cannot start refuses its questions, and the next question starts another", async () => {
    const counted = countStarts((starts) => starts > 1)
    const { thread } = counted
    const asked = [thread.ask("double", 1), thread.ask("double", 2)]
    for (const one of asked) await assert.rejects(one, isUnavailable)
    assert.equal(await thread.ask("double", 3), 6)
    assert.equal(counted.starts(), 2)
    await thread.close()
  })
} else {
  if (!given.canStart) throw new Error("this thread cannot start")
  answer<Questions>({ double: (number) => 2 * number }, () => {})
}
