import assert from "node:assert/strict"
import test from "node:test"
import type { ListedEntry } from "@tallystick/client/wire"
import { createRows } from "./rows.ts"

/** The number of entries in one request. */
const pageRows = 100

const entry = (sequence: number): ListedEntry =>
  // Only these members are used, and the proof, which must not be kept.
  ({ sequence, occurredAt: `t${sequence}`, proof: {} }) as ListedEntry

type Load = Parameters<typeof createRows>[0]["load"]

/** A ledger with this many entries, and the requests to it. */
function ledger(size: number) {
  const asked: number[] = []
  const made = { size, sealed: size }
  const load: Load = async (cursor, limit) => {
    asked.push(cursor)
    const newest = cursor === 0 ? made.size : Math.min(made.size, cursor - 1)
    const events = Array.from({ length: Math.min(limit, newest) }, (_, at) => entry(newest - at))
    const nextCursor = events.at(-1)?.sequence ?? 0
    return { ok: true, value: { events, total: made.size, hasMore: nextCursor > 1, nextCursor } }
  }
  const rows = createRows({
    load,
    recompute: async (entries) =>
      entries.map(({ sequence }) => ({
        state: sequence <= made.sealed ? ("sealed" as const) : ("pending" as const),
      })),
    changed: () => {},
  })
  return { rows, load, asked, made }
}

const sequences = (count: number, from: number): number[] =>
  Array.from({ length: count }, (_, at) => from - at)

test("pages have each row once, recomputed and without its proof", async () => {
  const { rows } = ledger(250)
  await rows.begin()
  assert.equal(rows.all.length, pageRows)
  while (rows.hasMore) await rows.older()
  assert.deepEqual(
    rows.all.map(({ sequence }) => sequence),
    sequences(250, 250),
  )
  assert.ok(rows.all.every(({ state }) => state === "sealed"))
  assert.ok(rows.all.every((row) => row.entry !== undefined && !("proof" in row.entry)))
})

test("rows that are far away are dropped and requested again", async () => {
  const { rows, asked } = ledger(5500)
  await rows.begin()
  while (rows.hasMore) await rows.older()
  assert.equal(rows.all.length, 5500)
  assert.equal(rows.all.filter((row) => row.entry === undefined).length, 400)
  const isKept = (place: number): boolean => rows.all[place]?.entry !== undefined
  assert.deepEqual([isKept(0), isKept(399), isKept(400)], [false, false, true])
  await rows.again(5500)
  assert.equal(asked.at(-1), 5501)
  assert.deepEqual([isKept(0), isKept(99), isKept(100)], [true, true, false])
  assert.deepEqual(
    rows.all.map(({ sequence }) => sequence),
    sequences(5500, 5500),
  )
})

test("new rows appear once at the front, and stay when they are listed again", async () => {
  const { rows, made } = ledger(120)
  await rows.begin()
  made.size = 123
  rows.prepend([123, 122, 121, 120].map(entry), 50)
  assert.deepEqual(
    rows.all.slice(0, 4).map(({ sequence, state }) => [sequence, state]),
    [
      [123, "unchecked"],
      [122, "unchecked"],
      [121, "unchecked"],
      [120, "sealed"],
    ],
  )
  assert.equal(rows.total, 123)
  assert.equal(rows.all.filter((row) => row.entry !== undefined).length, 50)
  await rows.again(123)
  assert.equal(rows.all[0]?.state, "pending")
  made.sealed = 123
  await rows.again(123)
  assert.equal(rows.all[0]?.state, "sealed")
  assert.equal(rows.all.filter((row) => row.entry !== undefined).length, pageRows)
})

test("a refused page keeps the existing rows, and can be requested again", async () => {
  let isRefused = false
  const refusal = { status: 503, code: "overloaded", detail: "too much" }
  const rows = createRows({
    load: async (cursor) =>
      isRefused
        ? { ok: false, refusal }
        : {
            ok: true,
            value: {
              events: [entry(cursor === 0 ? 2 : 1)],
              total: 2,
              hasMore: cursor === 0,
              nextCursor: cursor === 0 ? 2 : 1,
            },
          },
    recompute: async (entries) => entries.map(() => ({ state: "sealed" })),
    changed: () => {},
  })
  await rows.begin()
  isRefused = true
  await rows.older()
  assert.deepEqual([rows.refusal?.code, rows.all.length], ["overloaded", 1])
  isRefused = false
  await rows.older()
  assert.deepEqual([rows.refusal, rows.all.length], [undefined, 2])
})

test("a list that is followed for days forgets its last rows, and older ones follow without a gap", async () => {
  const { rows, made } = ledger(120)
  await rows.begin()
  while (made.size < 6000) rows.prepend([entry(++made.size)], 500)
  assert.equal(rows.all.length, 5000)
  assert.equal(rows.total, 6000)
  await rows.older()
  assert.deepEqual(
    rows.all.map(({ sequence }) => sequence),
    sequences(5100, 6000),
  )
})
