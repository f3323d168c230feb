import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { createTurns } from "./body-queue.ts"

const isOverloaded = (error: unknown): boolean =>
  error instanceof LedgerError && error.code === "overloaded"

function openTurns() {
  const due: (() => void)[] = []
  const turns = createTurns({ turnBytesMax: 100, turnsWaitingBytesMax: 300 }, (act) =>
    due.push(act),
  )
  const through: string[] = []
  const refused = new Set<string>()
  const take = (name: string, bytes: number): void => {
    const check = (): void => {
      if (refused.has(name)) throw new LedgerError("overloaded", name)
    }
    const waits = turns.take(bytes, check)
    if (waits === undefined) through.push(name)
    else
      waits.then(
        () => through.push(name),
        (error: unknown) => through.push(`no ${(error as LedgerError).detail}`),
      )
  }
  const turn = async (): Promise<void> => {
    for (const act of due.splice(0)) act()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { take, turn, through, refused, due }
}

test("so much goes through at once, and the rest in its order, turn by turn", async () => {
  const { take, turn, through, due } = openTurns()
  for (const name of ["a", "b", "c", "d", "e"]) take(name, 60)
  assert.deepEqual(through, ["a", "b"])
  await turn()
  take("f", 60)
  assert.deepEqual(through, ["a", "b", "c", "d"])
  await turn()
  await turn()
  assert.deepEqual(through, ["a", "b", "c", "d", "e", "f"])
  assert.equal(due.length, 0, "nothing is asked for when nobody waits")
  take("large", 5000)
  assert.equal(through.at(-1), "large")
})

test("what is small goes before what is large, within bounds", async () => {
  const { take, turn, through } = openTurns()
  for (const name of ["a", "b", "c"]) take(name, 100)
  for (let at = 0; at < 40; at++) take("small", 3)
  assert.equal(through.filter((name) => name === "small").length, 34)
  await turn()
  assert.equal(through.filter((name) => name === "b").length, 1)
})

test("whoever is refused meanwhile hears it in the next turn, and too much is refused at once", async () => {
  const { take, turn, through, refused } = openTurns()
  for (const name of ["a", "b", "c", "d"]) take(name, 100)
  assert.throws(() => take("e", 101), isOverloaded)
  refused.add("d")
  await turn()
  assert.deepEqual(through, ["a", "b", "no d"].toSorted())
  await turn()
  assert.deepEqual(through.at(-1), "c")
})
