import assert from "node:assert/strict"
import test from "node:test"
import type { Stored } from "./entries.ts"
import { receivedOf, sentOf } from "./sent-entries.ts"

const whole: Stored = {
  workspace: "acme",
  sequence: 7,
  record: new Uint8Array(118).fill(1),
  receipt: "rcp_7",
  idem: "key",
  bodySalt: new Uint8Array(16).fill(2),
  body: new TextEncoder().encode('{"a":"ü"}'),
  disclosures: "one~two",
}
/** As it is kept once its body is gone, or in the archive. */
const bodiless: Stored = {
  ...whole,
  sequence: 8,
  idem: undefined,
  bodySalt: undefined,
  body: undefined,
  disclosures: "",
}
const damaged: Stored = { ...whole, sequence: 9, record: new Uint8Array(), body: new Uint8Array() }

test("entries arrive in another thread as they were sent, also those that lack something", () => {
  for (const entries of [
    [],
    [undefined],
    [whole, undefined, bodiless, damaged, whole],
    [damaged, bodiless],
  ])
    assert.deepEqual(receivedOf(structuredClone(sentOf("acme", entries))), entries)
})

test("no more is copied than the entries have", () => {
  const { bytes } = sentOf("acme", [whole, bodiless])
  assert.equal(bytes.length, 118 + 16 + 10 + 118)
  assert.equal(bytes.buffer.byteLength, bytes.length, "memory that others share is copied too")
})
