import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { defaultLimits } from "../limits.ts"
import { createSignIns } from "./sign-ins.ts"

const clock: Clock = { now: () => 0, elapsed: () => 0, sleep: () => new Promise(() => {}) }

function openSignIns(waiting = 8) {
  const signIns = createSignIns(clock, {
    ...defaultLimits,
    passwordsWaitingMax: waiting,
    rateAddressesMax: 100,
  })
  const under: { readonly name: string; readonly end: (isRight: boolean) => void }[] = []
  const outcomes = new Map<string, string>()
  const soon = () => new Promise((resolve) => setImmediate(resolve))
  const attempt = (address: string, name: string, signal = new AbortController().signal): void => {
    const work = () =>
      new Promise<void>((resolve, reject) => {
        under.push({
          name,
          end: (isRight) => (isRight ? resolve() : reject(new LedgerError("login_failed", "no"))),
        })
      })
    signIns.run({ address, name, signal }, work).then(
      () => outcomes.set(name, "in"),
      (error: unknown) => outcomes.set(name, (error as LedgerError).code),
    )
  }
  const end = async (isRight: boolean): Promise<void> => {
    under.shift()?.end(isRight)
    await soon()
  }
  return { signIns, attempt, end, soon, outcomes, under: () => under.map(({ name }) => name) }
}

test("a network from which somebody has signed in keeps its own places during a flood", async () => {
  const { signIns, attempt, end, soon, outcomes, under } = openSignIns()
  attempt("192.0.2.1", "ada")
  await end(true)
  assert.equal(outcomes.get("ada"), "in")
  for (let at = 0; at < 100; at++) attempt(`198.51.100.${at}`, `guess ${at}`)
  await soon()
  assert.deepEqual(under(), ["guess 0"])
  attempt("192.0.2.1", "ada again")
  attempt("192.0.2.1", "her colleague")
  assert.deepEqual(under(), ["guess 0", "ada again"])
  await end(false)
  await end(true)
  assert.equal(outcomes.get("ada again"), "in")
  assert.ok(under().includes("her colleague"))
  signIns.know("203.0.113.1")
  attempt("203.0.113.1", "with a session")
  while (under().length > 0) await end(false)
  assert.equal(outcomes.get("with a session"), "login_failed", "it was looked at")
  assert.equal(
    [...outcomes.values()].filter((code) => code === "overloaded").length,
    91,
    "of the strangers one and eight who wait were",
  )
})

test("unknown networks share their places fairly, and attempts for one name do not fill them", async () => {
  const { attempt, soon, outcomes, under, end } = openSignIns()
  for (let at = 0; at < 20; at++) attempt("192.0.2.1", `greedy ${at}`)
  attempt("192.0.2.2", "other")
  await end(false)
  assert.deepEqual(under().length, 1)
  await end(false)
  assert.equal(
    outcomes.get("other") ?? under()[0],
    outcomes.has("other") ? "login_failed" : "other",
    "its turn comes next but one",
  )
  while (under().length > 0) await end(false)
  for (let at = 0; at < 20; at++) attempt(`198.51.100.${at}`, "victim@example.com")
  attempt("203.0.113.9", "another")
  await soon()
  while (under().length > 0) await end(false)
  assert.equal(outcomes.get("another"), "login_failed", "it was looked at")
})

test("two attempts for one name may be under way, however many have ended", async () => {
  const { attempt, end, under } = openSignIns()
  let network = 0
  const begin = (attempts: number): void => {
    for (let at = 0; at < attempts; at++) attempt(`198.51.100.${++network}`, "victim@example.com")
  }
  for (let round = 0; round < 3; round++) {
    begin(3)
    await end(false)
    begin(2)
    let left = 0
    for (; under().length > 0; left++) await end(false)
    assert.equal(left, 2)
  }
})

test("the password of a client that has left is not checked", async () => {
  const { attempt, end, soon, outcomes, under } = openSignIns()
  const leaving = new AbortController()
  attempt("192.0.2.1", "first")
  attempt("192.0.2.2", "leaves", leaving.signal)
  leaving.abort(new LedgerError("bad_request", "left"))
  await soon()
  assert.equal(outcomes.get("leaves"), "bad_request")
  await end(false)
  assert.deepEqual(under(), [])
})
