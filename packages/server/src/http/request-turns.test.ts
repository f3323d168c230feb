import assert from "node:assert/strict"
import test from "node:test"
import { createRequestTurns } from "./request-turns.ts"

function openTurns(perTurn: number) {
  const due: (() => void)[] = []
  let nowMs = 0
  const turns = createRequestTurns({ elapsed: () => nowMs }, perTurn, (act) => due.push(act))
  const begun: string[] = []
  const ask = (sender: string, name = sender): void => {
    const turn = turns.wait(() => sender)
    if (turn === undefined) begun.push(name)
    else void turn.then(() => begun.push(name))
  }
  const nextTurn = async (): Promise<string> => {
    for (const act of due.splice(0)) act()
    await new Promise((resolve) => setImmediate(resolve))
    return begun.splice(0).join(" ")
  }
  const pass = (ms: number): void => void (nowMs += ms)
  return { ask, nextTurn, begun, pass }
}

test("a limited number of requests begins in each turn, and senders take turns", async () => {
  const { ask, nextTurn, begun } = openTurns(3)
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6", "a7"]) ask("a", name)
  ask("b")
  assert.equal(begun.splice(0).join(" "), "a1 a2 a3")
  assert.equal(await nextTurn(), "a4 b a5")
  ask("c")
  assert.equal(await nextTurn(), "a6 c a7")
  assert.equal(await nextTurn(), "")
})

test("no more requests begin in a turn that has lasted for five milliseconds", async () => {
  const { ask, nextTurn, begun, pass } = openTurns(64)
  for (let at = 0; at < 20; at++) {
    ask("a")
    pass(1)
  }
  assert.equal(begun.splice(0).join(" "), "a a a a a")
  assert.equal((await nextTurn()).length, 29, "the other fifteen")
})

test("new requests do not overtake waiting ones", async () => {
  const { ask, nextTurn } = openTurns(1)
  for (const name of ["a1", "a2", "a3"]) ask("a", name)
  assert.equal(await nextTurn(), "a1 a2")
  ask("a", "a4")
  assert.equal(await nextTurn(), "a3")
  assert.equal(await nextTurn(), "a4")
})

test("requests that come now and then do not wait, and their senders are not asked for", () => {
  let nowMs = 0
  const soon = () => assert.fail("the limit is not reached")
  const turns = createRequestTurns({ elapsed: () => nowMs }, 2, soon)
  for (; nowMs < 100; nowMs += 10)
    assert.equal(
      turns.wait(() => assert.fail("it does not wait")),
      undefined,
    )
})

test("time that passes does not let anybody overtake those who wait", async () => {
  const { ask, nextTurn, begun, pass } = openTurns(1)
  for (const name of ["a1", "a2", "a3"]) ask("a", name)
  assert.equal(begun.splice(0).join(" "), "a1")
  pass(1000)
  ask("a", "a4")
  assert.equal(await nextTurn(), "a2")
  assert.equal(await nextTurn(), "a3")
  assert.equal(await nextTurn(), "a4")
})
