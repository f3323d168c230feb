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
  const alone = all.map((_, place) => sealedIn(bytes, place))
  for (const [place, sealed] of alone.entries()) {
    assert.deepEqual(sealed && Buffer.from(sealed), all[place] && Buffer.from(all[place]))
    assert.deepEqual(
      opened.sealed(place) && Buffer.from(opened.sealed(place) ?? ""),
      sealed && Buffer.from(sealed),
    )
  }
  assert.equal(sealedIn(bytes, 64), null)
  assert.equal(sealedIn(bytes.subarray(0, 20), 1), null)
  assert.equal(sealedIn(new Uint8Array(), 1), null)
})
