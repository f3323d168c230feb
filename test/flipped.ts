import assert from "node:assert/strict"

/** A copy with one bit of a byte changed; fails if there is no such byte. */
export function flipped(bytes: Uint8Array | undefined, at: number): Uint8Array<ArrayBuffer> {
  const byte = bytes?.[at]
  assert.ok(bytes !== undefined && byte !== undefined, `there is no byte ${at}`)
  return bytes.with(at, byte ^ 1)
}
