import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import { packZstd, unpackZstd } from "../runtime/zstd.ts"
import { openFrame, packFrame, saltedIn } from "./body-frame.ts"

/** Bodies that look like the lines of a frame, from an index on. */
function bodiesFrom(first: number) {
  return Array.from({ length: 64 }, (_, place) => {
    const index = first + place
    const body = { a: "x", index: first + 5, salt: "00", text: `\\"\\\\"🦊 ${place}`, z: ["b"] }
    const salted = Buffer.concat([randomBytes(16), Buffer.from(JSON.stringify(body))])
    return { index, salted }
  })
}

test("one body is taken out of a frame as it was packed, from wherever it stands", () => {
  const bodies = bodiesFrom(9_999_940)
  const frame = packFrame(bodies)
  assert.ok(frame !== undefined)
  const opened = openFrame(frame)
  assert.ok(typeof opened !== "string")
  for (const { index, salted } of bodies) {
    assert.ok(Buffer.from(salted).equals(saltedIn(frame, index) ?? new Uint8Array()), `${index}`)
    assert.ok(Buffer.from(salted).equals(opened.salted(index) ?? new Uint8Array()))
  }
  for (const other of [0, 5, 9_999_939, 10_000_004]) assert.equal(saltedIn(frame, other), undefined)
})

test("a body is taken out of a frame whose last line is nearly all of it", () => {
  const bodies = bodiesFrom(128).map(({ index, salted }) =>
    index < 191
      ? { index, salted }
      : { index, salted: Buffer.concat([salted, Buffer.alloc(100_000, " ")]) },
  )
  const frame = packFrame(bodies)
  assert.ok(frame !== undefined)
  for (const { index, salted } of bodies)
    assert.ok(salted.equals(saltedIn(frame, index) ?? new Uint8Array()), `${index}`)
})

test("a body that no frame could be read with is not packed", () => {
  const ofQuotes = (quotes: number) => ({
    index: 7,
    salted: Buffer.concat([randomBytes(16), Buffer.alloc(quotes, '"')]),
  })
  const [most, more] = [2 ** 21 - 100, 2 ** 21].map(ofQuotes)
  assert.ok(most !== undefined && more !== undefined)
  const opened = openFrame(packFrame([most]) ?? assert.fail("it is packed"))
  assert.ok(typeof opened !== "string" && most.salted.equals(opened.salted(7) ?? Buffer.of()))
  assert.equal(packFrame([more]), undefined)
})

test("of a damaged frame nothing is taken that it does not have, and nothing throws", () => {
  const bodies = bodiesFrom(0)
  const frame = packFrame(bodies)
  assert.ok(frame !== undefined)
  assert.equal(saltedIn(frame.subarray(0, 100), 3), undefined)
  const lines = unpackZstd(frame, 2 ** 22)
    .toString()
    .split("\n")
  lines[7] = "what is no line"
  const other = packZstd(Buffer.from(lines.join("\n")), 1)
  assert.equal(openFrame(other), "has a line that is not of the form in docs/format.md")
  assert.equal(saltedIn(other, 7), undefined)
  assert.ok(Buffer.from(bodies[8]?.salted ?? "").equals(saltedIn(other, 8) ?? new Uint8Array()))
})
