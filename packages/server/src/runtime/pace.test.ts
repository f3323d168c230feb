import assert from "node:assert/strict"
import test from "node:test"
import { createPace } from "./pace.ts"

function openPace() {
  let nowMs = 0
  const due: (() => void)[] = []
  const shared = createPace({ elapsed: () => nowMs }, 10, (act) => due.push(act))
  const done: string[] = []
  /** Does steps of so many milliseconds each. */
  const work = async (name: string, steps: number, stepMs: number, sender = ""): Promise<void> => {
    const pace = shared.of(sender)
    for (let step = 1; step <= steps; step++) {
      if (pace.isUp()) await pace.next()
      nowMs += stepMs
      done.push(`${name}${step}`)
    }
  }
  const turn = async (): Promise<string> => {
    for (const act of due.splice(0)) act()
    await new Promise((resolve) => setImmediate(resolve))
    return done.splice(0).join(" ")
  }
  /** The work of the next slice. */
  const slice = async (): Promise<string> => {
    assert.equal(await turn(), "", "there is a turn without a slice between two slices")
    return turn()
  }
  return { work, slice, done, due }
}

test("one slice of work runs in every second turn, and waiting work takes turns", async () => {
  const { work, slice, done, due } = openPace()
  void work("a", 7, 4)
  void work("b", 4, 4)
  assert.deepEqual(done.splice(0).join(" "), "a1 a2 a3")
  assert.equal(await slice(), "a4 a5 a6")
  assert.equal(await slice(), "b1 b2 b3")
  assert.equal(await slice(), "a7")
  assert.equal(await slice(), "b4")
  assert.equal(await slice(), "")
  assert.equal(due.length, 0, "nothing is scheduled where nothing waits")
})

test("senders take turns, with any number of waiting requests", async () => {
  const { work, slice, done } = openPace()
  for (const name of ["a", "b", "c", "d"]) void work(name, 2, 10, "many")
  void work("x", 2, 10, "one")
  assert.deepEqual(done.splice(0).join(" "), "a1")
  const turns: string[] = []
  for (let at = 0; at < 9; at++) turns.push(await slice())
  assert.equal(turns.join(" "), "a2 x1 b1 x2 c1 d1 b2 c2 d2")
})

test("a step that is longer than a slice gets a slice of its own, and work after a pause runs at once", async () => {
  const { work, slice, done } = openPace()
  void work("a", 2, 30)
  void work("b", 1, 30)
  assert.deepEqual(done.splice(0), ["a1"])
  assert.equal(await slice(), "a2")
  assert.equal(await slice(), "b1")
  await slice()
  void work("c", 1, 1)
  assert.deepEqual(done, ["c1"])
})
