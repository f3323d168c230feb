import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import { openSealed, packSealed, sealedIn } from "./stretch-format.ts"

test("the disclosures of one entry equal those at its place among all, and do not change", () => {
  const all = Array.from({ length: 64 }, (_, place) =>
    place % 3 === 0
      ? null
      : place % 3 === 1
        ? `text ${place}`
        : Buffer.from(`["${randomBytes(9).toString("hex")}","name"]`),
  )
  const bytes = packSealed(all)
  const opened = openSealed(bytes, all.length)
  assert.ok(typeof opened !== "string")
  const together = sealedIn(bytes, [...all.keys()].toReversed()).toReversed()
  for (const [place, sealed] of together.entries()) {
    assert.deepEqual(sealedIn(bytes, [place]), [sealed])
    assert.deepEqual(sealed && Buffer.from(sealed), all[place] && Buffer.from(all[place]))
    assert.deepEqual(
      opened.sealed(place) && Buffer.from(opened.sealed(place) ?? ""),
      sealed && Buffer.from(sealed),
    )
  }
  assert.deepEqual(sealedIn(bytes, [64, 1]), [null, sealedIn(bytes, [1])[0]])
  assert.deepEqual(sealedIn(bytes.subarray(0, 20), [0, 1]), [null, null])
  assert.deepEqual(sealedIn(new Uint8Array(), [0, 1]), [null, null])
})
