import assert from "node:assert/strict"
import test from "node:test"
import { openMemory } from "../store/memory.ts"
import type { CredentialUse } from "../store/index-state.ts"
import { createCredentialUses } from "./credential-uses.ts"

function openUses() {
  const { index } = openMemory().watched
  const written: CredentialUse[][] = []
  const failures: unknown[] = []
  const house = {
    written,
    failures,
    index,
    /** Ends the pause before the next save. */
    endPause: () => {},
    write: async (uses: readonly CredentialUse[]) => index.putUses(uses),
  }
  const uses = createCredentialUses({
    clock: { sleep: () => new Promise((resolve) => (house.endPause = resolve)) },
    read: (ids) => index.uses(ids),
    async write(some) {
      written.push([...some])
      await house.write(some)
    },
    failed: (error) => failures.push(error),
  })
  return { ...house, house, uses }
}

const key = { kind: "api-key", id: "a-key" } as const
const token = { kind: "token", id: "a-token" } as const
const at = (receivedAtMs: number) => ({ receivedAtMs, address: `192.0.2.${receivedAtMs % 10}` })

test("the last use is known at once, to a second, and for a token without its address", async () => {
  const { uses } = openUses()
  for (const ms of [1001, 1500, 2000, 2002, 2003]) uses.note(key, at(ms))
  uses.note(token, at(7))
  assert.deepEqual(
    await uses.of(["a-key", "a-token", "never"]),
    new Map(
      [
        ["a-token", { id: "a-token", atMs: 7, from: "" }],
        ["a-key", { id: "a-key", atMs: 2002, from: "192.0.2.2" }],
      ].toReversed() as [string, CredentialUse][],
    ),
  )
})

test("a use is stored once in an interval, for any number of requests", async () => {
  const { house, uses, written } = openUses()
  for (let ms = 0; ms < 100_000; ms += 10) uses.note(key, at(ms))
  uses.note(token, at(5))
  assert.deepEqual(written, [])
  house.endPause()
  await uses.save()
  assert.deepEqual(written, [
    [
      { id: "a-key", atMs: 99_000, from: "192.0.2.0" },
      { id: "a-token", atMs: 5, from: "" },
    ],
  ])
  await uses.save()
  assert.equal(written.length, 1, "nothing is new")
  uses.note(token, at(200_005))
  await uses.save()
  assert.deepEqual(written[1], [{ id: "a-token", atMs: 200_005, from: "" }])
})

test("uses from before a start are known, and later ones replace them", async () => {
  const { house, uses, index } = openUses()
  await index.putUses([
    { id: "a-key", atMs: 3, from: "192.0.2.3" },
    { id: "a-token", atMs: 4, from: "" },
  ])
  uses.note(key, at(9))
  const seen = await uses.of(["a-key", "a-token"])
  assert.deepEqual([seen.get("a-key")?.atMs, seen.get("a-token")?.atMs], [9, 4])

  house.write = async () => assert.fail("the disk is full")
  await uses.save()
  assert.equal((await uses.of(["a-key"])).get("a-key")?.atMs, 9, "still known here")
})

test("uses that could not be stored are stored by the next save", async () => {
  const { house, uses, index } = openUses()
  uses.note(key, at(1))
  house.write = async () => {
    uses.note(token, at(2))
    throw new Error("the disk is full")
  }
  await uses.save()
  house.write = async (some) => index.putUses(some)
  await uses.save()
  const stored = await index.uses(["a-key", "a-token"])
  assert.deepEqual(
    new Map(stored.map(({ id, atMs }) => [id, atMs])),
    new Map([
      ["a-key", 1],
      ["a-token", 2],
    ]),
  )
})

test("the uses of many credentials are stored in parts, and then dropped from memory", async () => {
  const { uses, written, index } = openUses()
  const many = 100_000
  for (let n = 0; n < many; n++) uses.note({ kind: "token", id: `token-${n}` }, at(n))
  await uses.save()
  assert.equal(written.flat().length, many)
  assert.ok(written.every((part) => part.length <= 1000))
  assert.equal((await uses.of(["token-7"])).get("token-7")?.atMs, 7)
  await index.putUses([{ id: "token-7", atMs: 1e9, from: "" }])
  assert.equal((await uses.of(["token-7"])).get("token-7")?.atMs, 1e9, "it is read from the store")
})
