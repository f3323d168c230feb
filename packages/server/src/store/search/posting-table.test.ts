import assert from "node:assert/strict"
import test from "node:test"
import { PostingTable } from "./posting-table.ts"

function tableOf(items: readonly (readonly Buffer[])[]): PostingTable {
  const table = new PostingTable(16, 16)
  for (const keys of items) {
    table.begin()
    for (const key of keys) {
      table.room(key.length).set(key, table.end)
      table.post(key.length % 2, key.length)
    }
  }
  return table
}

/** Each key with its items, in the order of groups and bytes; the second group is the first here. */
function linesOf(table: PostingTable): string[] {
  const { items, starts } = table.lists()
  return [...table.sorted(Uint32Array.of(1, 0), 2)].map((key) => {
    const bytes = table.arena.subarray(table.starts[key], table.endOf(key)).toString("hex")
    return `${table.groups[key]} ${bytes}: ${items.slice(starts[key], starts[key + 1]).join()}`
  })
}

function expectedOf(items: readonly (readonly Buffer[])[]): string[] {
  const lists = new Map<string, Set<number>>()
  for (const [item, keys] of items.entries())
    for (const key of keys) {
      const name = key.toString("latin1")
      lists.set(name, (lists.get(name) ?? new Set()).add(item))
    }
  return [...lists]
    .map(([name, list]) => ({ key: Buffer.from(name, "latin1"), list: [...list] }))
    .toSorted((a, b) => (b.key.length % 2) - (a.key.length % 2) || Buffer.compare(a.key, b.key))
    .map(({ key, list }) => `${key.length % 2} ${key.toString("hex")}: ${list.join()}`)
}

test("keys are sorted by their bytes, whatever they have in common, zeros and ends included", () => {
  const zeros = Array.from({ length: 40 }, (_, length) => Buffer.alloc(length))
  const nested = Array.from({ length: 60 }, (_, length) => Buffer.from("ab".repeat(length)))
  const long = Array.from({ length: 300 }, (_, at) => Buffer.from(`${"x".repeat(777)}${at * 7919}`))
  const high = Array.from({ length: 300 }, (_, at) => Buffer.of(at & 255, 0xff, at >>> 4, 0))
  const all = [zeros, nested, long, high, [...zeros, ...long.slice(0, 20)], [], high.toReversed()]
  assert.deepEqual(linesOf(tableOf(all)), expectedOf(all))
})

test("what is undone was never posted", () => {
  const table = tableOf([[Buffer.from("one")]])
  table.begin()
  for (const key of ["one", "two!", "one"]) {
    table.room(9).write(key, table.end)
    table.post(key.length % 2, key.length)
  }
  table.undo()
  table.room(9).write("one", table.end)
  table.post(1, 3)
  assert.deepEqual(linesOf(table), ["1 6f6e65: 0,1", `0 ${Buffer.from("two!").toString("hex")}: `])
})

test("nobody can choose values that take longer than others", () => {
  // Whichever of the two parts stands in each place, FNV-1a gives texts of this length one hash.
  const colliding = Array.from({ length: 4096 }, (_, at) => {
    const bits = at.toString(2).padStart(12, "0")
    return `kgfcoa${bits.replaceAll("0", "cjlcoa").replaceAll("1", "llkhab")}`
  })
  const others = colliding.map((text, at) => String(at).padStart(text.length, "x"))
  const usOf = (texts: readonly string[]): number => {
    const keys = texts.map((text) => Buffer.from(text))
    const before = process.cpuUsage()
    const table = new PostingTable(16, 16)
    table.begin()
    for (const key of keys) {
      table.room(key.length).set(key, table.end)
      table.post(0, key.length)
    }
    const { user, system } = process.cpuUsage(before)
    assert.equal(table.count, texts.length)
    return user + system
  }
  usOf(others)
  const [chosen, usual] = [usOf(colliding), usOf(others)]
  assert.ok(chosen < 10 * Math.max(usual, 2000), `${chosen} and ${usual} µs`)
})
