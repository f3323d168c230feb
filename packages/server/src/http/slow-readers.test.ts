import assert from "node:assert/strict"
import test from "node:test"
import { tooSlow, unreadOf } from "./slow-readers.ts"

const limits = { stillTimeoutMs: 1000, answerBytesPerSecondMin: 100, unreadBytesMax: 5000 }
const reader = (name: string, bytes: number, sinceMs: number, queued = 0) => ({
  name,
  bytes,
  queued,
  taken: 0,
  sinceMs,
})
const names = (all: readonly ReturnType<typeof reader>[], nowMs: number) =>
  tooSlow(all, nowMs, limits).map(({ name }) => name)

test("a reader has time in proportion to its unread bytes", () => {
  const readers = [reader("small", 100, 0), reader("large", 1000, 0), reader("new", 100, 1500)]
  assert.deepEqual(names(readers, 1999), [])
  assert.deepEqual(names(readers, 2001), ["small"])
  assert.deepEqual(names(readers, 11_001).toSorted(), ["large", "new", "small"])
})

test("if all unread bytes together are too many, the longest idle readers are disconnected, and no more than needed", () => {
  const readers = [reader("late", 3000, 900), reader("early", 3000, 0), reader("later", 1500, 950)]
  assert.deepEqual(names(readers, 1000), ["early"])
  assert.deepEqual(names(readers.slice(0, 1), 1000), [])
})

test("answers that wait count, and a client that waits for an answer is not slow", () => {
  const readers = [reader("queued", 100, 0, 4000), reader("other", 1500, 100)]
  assert.deepEqual(names(readers, 1000), ["queued"])
  assert.deepEqual(names([reader("waits", 0, 0, 4000)], 1_000_000), [])
})

test("a client is still from when something was sent to it, not from when it began to wait", () => {
  const socket = { writableLength: 0, bytesWritten: 0 }
  const seen = [
    // It waits for an answer, which is then sent, and which it reads once.
    [0, 0, 1000],
    [500, 500, 2000],
    [500, 500, 2000],
    [400, 500, 4000],
    [400, 500, 4000],
  ] as const
  let unread: ReturnType<typeof unreadOf<typeof socket>> = new Map()
  for (const [at, [writableLength, bytesWritten, sinceMs]] of seen.entries()) {
    Object.assign(socket, { writableLength, bytesWritten })
    unread = unreadOf([socket], unread, 1000 * (at + 1), () => 700)
    assert.equal(unread.get(socket)?.sinceMs, sinceMs, `look ${at + 1}`)
  }
  socket.writableLength = 0
  assert.equal(unreadOf([socket], unread, 9000, () => 0).size, 0)
})
