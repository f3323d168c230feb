import assert from "node:assert/strict"
import test from "node:test"
import type { ListedEntry } from "@tallystick/client/wire"
import { goneSentence, goneText, timeOf } from "./gone-content.ts"

const entryOf = (changes: Partial<ListedEntry>): ListedEntry =>
  ({
    action: "a.b",
    integrity: "verified",
    occurredAt: "2026-01-31T09:30:00Z",
    timestamp: "2026-01-31T09:31:00.000Z",
    ...changes,
    // The other members are not used.
  }) as ListedEntry

test("an entry without its content differs from one that lost only personal data", () => {
  const said = (changes: Partial<ListedEntry>) => {
    const entry = entryOf(changes)
    return [goneText(entry), goneSentence(entry)?.split(" ").slice(0, 8).join(" ")]
  }
  assert.deepEqual(said({}), [undefined, undefined])
  assert.deepEqual(said({ integrity: "broken", action: "" }), [undefined, undefined])
  assert.deepEqual(said({ integrity: "expired", action: "" }), [
    "Content expired",
    "A retention rule has destroyed what this entry",
  ])
  assert.deepEqual(said({ integrity: "erased", action: "" }), [
    "Content erased",
    "An erasure has destroyed what this entry said.",
  ])
  assert.deepEqual(said({ integrity: "erased" }), [
    undefined,
    "An erasure has destroyed personal data of this",
  ])
})

test("the time of an entry without content is the time at which it was recorded", () => {
  const { occurredAt, timestamp } = entryOf({})
  assert.equal(timeOf(entryOf({})), occurredAt)
  assert.equal(timeOf(entryOf({ occurredAt: "" })), timestamp)
})
