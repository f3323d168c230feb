import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { createRoom } from "./admission.ts"

const isOverloaded = (error: unknown): boolean =>
  error instanceof LedgerError && error.code === "overloaded"

test("one that sends without end has most of the room, and there is some for each who comes next", () => {
  const room = createRoom({ queuedEventsMax: 5000 })
  const fill = (workspace: string): number => {
    for (let taken = 0; ; taken++) {
      try {
        room.take(workspace, 1)
      } catch (error) {
        assert.ok(isOverloaded(error))
        return taken
      }
    }
  }
  assert.equal(fill("one"), 4000)
  assert.equal(fill("two"), 800)
  assert.equal(fill("three"), 160)
  assert.equal(room.entries(), 4960)
  // As the first is served it gets back what is its share now, and no more.
  room.giveBack("one", 4000)
  assert.equal(fill("four"), 3232)
  assert.throws(() => room.take("four", 1), isOverloaded)
  room.take("two", 4)
  room.take("five", 1)
})

test("without companions all of it can be had at once, and never more", () => {
  const room = createRoom({ queuedEventsMax: 10 })
  assert.throws(() => room.take("acme", 11), isOverloaded)
  room.check("acme", 10)
  room.take("acme", 10)
  assert.throws(() => room.take("other", 1), isOverloaded)
  room.giveBack("acme", 10)
  assert.equal(room.entries(), 0)
  room.take("other", 10)
})

test("whoever was refused is refused at the door until something was written, and nobody else is", () => {
  const room = createRoom({ queuedEventsMax: 10 })
  room.take("acme", 5)
  assert.throws(() => room.take("acme", 5 + 1), isOverloaded)
  assert.throws(() => room.check("acme", 1), isOverloaded)
  room.check("other", 1)
  room.reopen()
  room.check("acme", 1)
})
