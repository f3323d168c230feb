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
    const [alone] = saltedIn(frame, [index])
    assert.ok(salted.equals(alone ?? new Uint8Array()), `${index}`)
    assert.ok(Buffer.from(salted).equals(opened.salted(index) ?? new Uint8Array()))
  }
  const others = [0, 5, 9_999_939, 10_000_004]
  assert.deepEqual(
    saltedIn(frame, others),
    others.map(() => undefined),
  )
  // In any order, and with one that it lacks between them.
  const some = [63, 7, 8].flatMap((place) => bodies[place] ?? [])
  const asked = [...some.map(({ index }) => index), 5]
  const wanted = [...some.map(({ salted }) => salted), undefined]
  assert.deepEqual(
    saltedIn(frame, asked).map((salted) => salted && Buffer.from(salted)),
    wanted,
  )
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
    assert.ok(salted.equals(saltedIn(frame, [index])[0] ?? new Uint8Array()), `${index}`)
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
  assert.deepEqual(saltedIn(frame.subarray(0, 100), [3, 4]), [undefined, undefined])
  const lines = unpackZstd(frame, 2 ** 22)
    .toString()
    .split("\n")
  lines[7] = "what is no line"
  const other = packZstd(Buffer.from(lines.join("\n")), 1)
  assert.equal(openFrame(other), "has a line that is not of the form in docs/format.md")
  const [damaged, next] = saltedIn(other, [7, 8])
  assert.equal(damaged, undefined)
  assert.ok(Buffer.from(bodies[8]?.salted ?? "").equals(next ?? new Uint8Array()))
})
