import assert from "node:assert/strict"
import test from "node:test"
import { concat, utf8 } from "./encoding.ts"
import { preimage, preimageOfText } from "./preimage.ts"

test("parts are joined, and text becomes UTF-8, with and without room in the shared buffer", () => {
  for (const length of [0, 1, 1364, 1365, 1366, 4094, 4095, 4096, 4097, 20_000]) {
    const part = new Uint8Array(length).fill(5)
    assert.deepEqual(
      preimage(Uint8Array.of(1), part, Uint8Array.of(2)),
      concat(Uint8Array.of(1), part, Uint8Array.of(2)),
    )
    for (const letter of ["a", "é", "—", "😀"])
      assert.deepEqual(preimageOfText(letter.repeat(length)), utf8(letter.repeat(length)))
  }
  assert.deepEqual(preimage(), new Uint8Array())
})
