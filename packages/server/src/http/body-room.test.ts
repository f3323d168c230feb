import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { defaultLimits } from "../limits.ts"
import { createBodyRoom } from "./body-room.ts"
import type { BodyHold } from "./body.ts"

const limits = { ...defaultLimits, bodyBytesAtOnceMax: 1000, anonymousBodyBytesAtOnceMax: 100 }
const key = (workspace: string) =>
  ({ kind: "api-key", id: "1", workspace, scopes: [], projectIds: undefined }) as const
const from = (address: string) => ({ address })

/** Takes so many bytes a body as often as it can. */
function fill(open: () => BodyHold, bytes: number): readonly BodyHold[] {
  const holds: BodyHold[] = []
  for (;;) {
    const hold = open()
    try {
      hold.take(bytes)
    } catch (error) {
      assert.ok(error instanceof LedgerError && error.code === "overloaded")
      return holds
    }
    holds.push(hold)
  }
}

test("nobody takes the room from all others, and what is given back is there again", () => {
  const room = createBodyRoom(limits)
  const acme = fill(() => room(key("acme"), from("")), 50)
  assert.equal(acme.length, 5, "a quarter")
  room({ kind: "instance" }, from("")).take(50)
  for (const workspace of ["b", "c"])
    assert.equal(fill(() => room(key(workspace), from("")), 50).length, 5)
  assert.equal(fill(() => room(key("d"), from("")), 50).length, 4, "as far as it goes")
  const first = fill(() => room(key("e"), from("")), 50)
  assert.equal(first.length, 1, "one at a time goes on, whatever the others do")
  for (const hold of first) hold.release()
  for (const hold of acme) {
    hold.release()
    hold.release()
  }
  assert.equal(fill(() => room(key("e"), from("")), 50).length, 5)
})

test("strangers have a room of their own, shared between networks; a first body may be larger than a share", () => {
  const room = createBodyRoom(limits)
  assert.equal(fill(() => room(undefined, from("192.0.2.1")), 10).length, 2)
  assert.equal(fill(() => room(undefined, from("2001:db8::1")), 10).length, 2)
  assert.equal(fill(() => room(undefined, from("2001:db8::2")), 10).length, 0, "the same network")
  for (const at of [2, 3]) room(undefined, from(`192.0.2.${at}`)).take(30)
  assert.equal(fill(() => room(undefined, from("192.0.2.4")), 10).length, 0)
  assert.equal(
    fill(() => room(key("acme"), from("192.0.2.1")), 50).length,
    5,
    "those who are known are not concerned",
  )
})

test("announced batches leave room for events, also of their own workspace", () => {
  const room = createBodyRoom({ ...limits, bodyBytesAtOnceMax: 3200, eventBytesMax: 50 })
  for (const workspace of ["acme", "b", "c"])
    assert.equal(fill(() => room(key(workspace), from("")), 100).length, 7)
  assert.equal(fill(() => room(key("d"), from("")), 100).length, 7, "all that batches may take")
  assert.equal(fill(() => room(key("e"), from("")), 100).length, 0)
  for (const workspace of ["acme", "e"])
    assert.equal(fill(() => room(key(workspace), from("")), 50).length > 0, true, workspace)
})
