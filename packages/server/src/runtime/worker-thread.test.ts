import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { answer, givenToThread, startThread, startWhenAsked } from "./worker-thread.ts"

// This file is also the module of the threads that it starts.

type Questions = { double(number: number): number; never(): Promise<void>; refused(): never }

type Start = "answers" | "throws" | "ends"

const given = givenToThread<Start>(import.meta.filename)
if (given === undefined) {
  const onDeath = (cause: Error): never => assert.fail(cause)
  const isUnavailable = (error: unknown): boolean =>
    error instanceof LedgerError && error.code === "ledger_unavailable"

  const countStarts = (how: (starts: number) => Start = () => "answers") => {
    let starts = 0
    const thread = startWhenAsked(() =>
      startThread<Questions>(import.meta.filename, how(++starts), { onDeath }),
    )
    return { thread, starts: () => starts }
  }

  test("a thread starts with its first question, and once", async () => {
    const counted = countStarts()
    assert.equal(counted.starts(), 0)
    const { thread } = counted
    assert.deepEqual(await Promise.all([thread.ask("double", 1), thread.ask("double", 2)]), [2, 4])
    assert.equal(await thread.ask("double", 3), 6)
    assert.equal(counted.starts(), 1)
    await thread.close()
  })

  test("a thread answers questions from before its close, and none after it", async () => {
    const { thread } = countStarts()
    const [answered] = await Promise.all([thread.ask("double", 4), thread.close()])
    assert.equal(answered, 8)
    await assert.rejects(thread.ask("double", 5), isUnavailable)
  })

  test("a question that a thread has not answered at its close is rejected, and does not delay the close", async () => {
    const { thread } = countStarts()
    const rejected = assert.rejects(thread.ask("never"), /the thread of .* has ended/)
    await thread.close()
    await rejected
  })

  test("a refusal keeps its code, and its cause for the log", async () => {
    const { thread } = countStarts()
    const refusal = new LedgerError("overloaded", "ask again", {
      cause: new Error("no connection"),
    })
    await assert.rejects(thread.ask("refused"), refusal)
    await thread.close()
  })

  test("an unused thread does not start at its close", async () => {
    const counted = countStarts()
    await counted.thread.close()
    await assert.rejects(counted.thread.ask("double", 1), isUnavailable)
    assert.equal(counted.starts(), 0)
  })

  for (const failure of ["throws", "ends"] as const)
    test(`a thread that ${failure} before it answers refuses its questions, and the next question starts another`, async () => {
      const counted = countStarts((starts) => (starts === 1 ? failure : "answers"))
      const { thread } = counted
      const asked = [thread.ask("double", 1), thread.ask("double", 2)]
      for (const one of asked) await assert.rejects(one, isUnavailable)
      assert.equal(await thread.ask("double", 3), 6)
      assert.equal(counted.starts(), 2)
      await thread.close()
    })
} else {
  if (given === "throws") throw new Error("this thread cannot start")
  if (given === "ends") process.exit(1)
  answer<Questions>(
    {
      double: (number) => 2 * number,
      never: () => new Promise(() => {}),
      refused() {
        throw new LedgerError("overloaded", "ask again", { cause: new TypeError("no connection") })
      },
    },
    () => {},
  )
}
