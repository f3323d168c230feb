import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { Admission, type AdmissionLimits, type Sender, type Place } from "./admission.ts"

const limits: AdmissionLimits = {
  queuedEventsMax: 5000,
  bodyBytesAtOnceMax: 1000,
  anonymousBodyBytesAtOnceMax: 100,
  eventBytesMax: 250,
  turnBytesMax: 100,
  turnsWaitingBytesMax: 300,
}
const open = (changes: Partial<AdmissionLimits> = {}, later?: (act: () => void) => void) =>
  new Admission({ ...limits, ...changes }, later)
const known = (name: string): Sender => ({ name, isStranger: false, isWriter: false })
const stranger = (name: string): Sender => ({ name, isStranger: true, isWriter: false })
const writer = (name: string): Sender => ({ name, isStranger: false, isWriter: true })

const isOverloaded = (error: unknown): boolean =>
  error instanceof LedgerError && error.code === "overloaded"

/** Repeats it until it is refused. */
function repeat<T>(act: () => T): readonly T[] {
  const done: T[] = []
  for (;;) {
    try {
      done.push(act())
    } catch (error) {
      assert.ok(isOverloaded(error), String(error))
      return done
    }
  }
}

// Entries that wait -------------------------------------------------------------------------------

const fill = (admission: Admission, workspace: string): number =>
  repeat(() => admission.takeEntries(workspace, 1)).length

test("a workspace that floods the queue gets most of it, and later ones still get places", () => {
  const admission = open()
  assert.equal(fill(admission, "one"), 4000)
  assert.equal(fill(admission, "two"), 800)
  assert.equal(fill(admission, "three"), 160)
  assert.equal(admission.entries, 4960)
  // When entries of the first workspace are written, it gets its present share, and no more.
  admission.giveBackEntries("one", 4000)
  assert.equal(fill(admission, "four"), 3232)
  assert.throws(() => admission.takeEntries("four", 1), isOverloaded)
  admission.takeEntries("two", 4)
  admission.takeEntries("five", 1)
})

test("a single workspace can use the whole queue at once, and never more", () => {
  const admission = open({ queuedEventsMax: 10 })
  assert.throws(() => admission.takeEntries("acme", 11), isOverloaded)
  // No entry waits that would be written and reopen the workspace.
  admission.enter(writer("acme")).take(1)
  admission.takeEntries("acme", 10)
  assert.throws(() => admission.takeEntries("other", 1), isOverloaded)
  admission.giveBackEntries("acme", 10)
  assert.equal(admission.entries, 0)
  admission.takeEntries("other", 10)
})

test("a refused workspace is refused before its body is read until an entry was written, and only that workspace", () => {
  const admission = open({ queuedEventsMax: 10 })
  const enter = (sender: Sender): void => admission.enter(sender).take(1)
  admission.takeEntries("acme", 5)
  admission.takeEntries("b", 1)
  assert.throws(() => admission.takeEntries("acme", 5), isOverloaded)
  assert.throws(() => enter(writer("acme")), isOverloaded)
  enter(writer("other"))
  enter(known("acme"))
  // The body names the workspace of such a caller.
  enter(writer(""))
  admission.giveBackEntries("b", 1)
  enter(writer("acme"))
})

// Bodies in memory --------------------------------------------------------------------------------

/** Takes as many bodies of this size as fit. */
const bodies = (admission: Admission, sender: Sender, bytes: number): readonly Place[] =>
  repeat(() => {
    const place = admission.enter(sender)
    place.take(bytes)
    return place
  })

test("no sender can take all memory for bodies, and released memory can be used again", () => {
  const admission = open()
  const acme = bodies(admission, known("acme"), 50)
  assert.equal(acme.length, 5, "a quarter")
  admission.enter(known("")).take(50)
  for (const name of ["b", "c"]) assert.equal(bodies(admission, known(name), 50).length, 5)
  assert.equal(bodies(admission, known("d"), 50).length, 4, "as far as it goes")
  const first = bodies(admission, known("e"), 50)
  assert.equal(first.length, 1, "one at a time goes on, whatever the others do")
  for (const place of first) place.leave()
  for (const place of acme) {
    place.leave()
    place.leave()
  }
  assert.equal(bodies(admission, known("e"), 50).length, 5)
})

test("a chunked body counts once, and may exceed a share if it is the sender's only one", () => {
  const admission = open({ eventBytesMax: 100 })
  const place = admission.enter(known("acme"))
  for (let at = 0; at < 17; at++) place.take(50)
  assert.throws(() => place.take(50), isOverloaded, "seven eighths")
  assert.throws(() => admission.enter(known("acme")).take(10), isOverloaded)
  place.leave()
  assert.equal(bodies(admission, known("acme"), 50).length, 5)
})

test("anonymous callers have memory of their own, shared between networks, and each network may have one body", () => {
  const admission = open()
  for (const at of [1, 2]) assert.equal(bodies(admission, stranger(`192.0.2.${at}`), 10).length, 2)
  for (const at of [3, 4]) admission.enter(stranger(`192.0.2.${at}`)).take(30)
  for (const at of [5, 6])
    assert.equal(
      bodies(admission, stranger(`192.0.2.${at}`), 10).length,
      1,
      "though it is all used",
    )
  assert.equal(
    bodies(admission, known("192.0.2.1"), 50).length,
    5,
    "those who are known are not concerned",
  )
})

test("announced batches leave memory for single events, also of the same workspace", () => {
  const admission = open({ bodyBytesAtOnceMax: 3200, eventBytesMax: 50 })
  for (const name of ["acme", "b", "c"]) assert.equal(bodies(admission, known(name), 100).length, 7)
  assert.equal(bodies(admission, known("d"), 100).length, 7, "all that batches may take")
  assert.equal(bodies(admission, known("e"), 100).length, 0)
  for (const workspace of ["acme", "e"])
    assert.ok(bodies(admission, known(workspace), 50).length > 0, workspace)
})

// Turns -------------------------------------------------------------------------------------------

function openTurns() {
  const due: (() => void)[] = []
  const admission = open(
    { queuedEventsMax: 10, bodyBytesAtOnceMax: 1e9, eventBytesMax: 1e9 },
    (act) => due.push(act),
  )
  const through: string[] = []
  /** `a 1` is a body of the workspace a. */
  const take = (name: string, bytes: number): void => {
    const place = admission.enter(writer(name.replace(/ .*/, "")))
    place.take(bytes)
    const waits = place.turn()
    if (waits === undefined) through.push(name)
    else
      waits.then(
        () => through.push(name),
        (error: unknown) => through.push(`no ${name} ${(error as LedgerError).code}`),
      )
  }
  const turn = async (): Promise<void> => {
    for (const act of due.splice(0)) act()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { admission, take, turn, through, due }
}

test("a limited amount is parsed in each turn, and the rest in order in later turns", async () => {
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

test("small bodies go before large ones, within bounds", async () => {
  const { take, turn, through } = openTurns()
  for (const name of ["a", "b", "c"]) take(name, 100)
  for (let at = 0; at < 40; at++) take("small", 3)
  assert.equal(through.filter((name) => name === "small").length, 34)
  await turn()
  assert.equal(through.filter((name) => name === "b").length, 1)
})

test("a large body takes no more of a turn than its first slice, so small ones go before it", async () => {
  const { take, through, due } = openTurns()
  take("large", 5000)
  for (let at = 0; at < 40; at++) take("small", 3)
  assert.equal(through.filter((name) => name === "small").length, 34)
  assert.equal(due.length, 1)
})

test("a waiting body is refused in the next turn once its queue is full, and bodies beyond the limit are refused at once", async () => {
  const { admission, take, turn, through } = openTurns()
  for (const name of ["a", "b", "c", "d"]) take(name, 100)
  assert.throws(() => take("e", 101), isOverloaded)
  admission.takeEntries("d", 9)
  await turn()
  assert.deepEqual(through.toSorted(), ["a", "b", "no d overloaded"])
  await turn()
  assert.deepEqual(through.at(-1), "c")
})

test("a body that does not become entries does not wait for a turn", () => {
  const { admission, take, through } = openTurns()
  for (const name of ["a", "b", "c"]) take(name, 100)
  assert.deepEqual(through, ["a"])
  const place = admission.enter(known("c"))
  place.take(100)
  assert.equal(place.turn(), undefined)
})
