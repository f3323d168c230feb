import { primeRoots } from "./prime-roots.ts"

/**
 * A SHA-256 function. All functions of this package that hash take one as their last argument, so
 * that a program can pass a faster one. It must not keep its argument, because callers reuse the
 * memory of the preimage.
 */
export type Sha256 = (bytes: Uint8Array) => Uint8Array

/**
 * SHA-256 (FIPS 180-4). The same in every engine, without crypto.subtle, which pages over plain
 * HTTP do not have. It uses 32-bit operations only, so its time depends on the length alone.
 */
export const sha256: Sha256 = (message) => {
  constants ??= makeConstants()
  state.set(constants.initial)
  const whole = message.length - (message.length % blockBytes)
  const view = new DataView(message.buffer, message.byteOffset, message.length)
  compress(view, whole, constants.rounds)
  // The rest, a bit of one, zeros, and the length in bits.
  const rest = message.length - whole
  const padded = rest + 9 > blockBytes ? 2 * blockBytes : blockBytes
  end.fill(0)
  end.set(message.subarray(whole))
  end[rest] = 0x80
  endView.setUint32(padded - 8, message.length / 2 ** 29)
  endView.setUint32(padded - 4, message.length << 3)
  compress(endView, padded, constants.rounds)
  for (let i = 0; i < 8; i++) endView.setInt32(4 * i, state[i]!)
  return end.slice(0, 32)
}

const blockBytes = 64
// Reused for each hash. Most inputs have two blocks, and take a third of the time if only the hash
// is allocated.
const state = new Int32Array(8)
const schedule = new Int32Array(64)
const end = new Uint8Array(2 * blockBytes)
const endView = new DataView(end.buffer)

// A read of an Int32Array has a type with undefined in it; all indexes here are within bounds.
function compress(blocks: DataView, length: number, constant: Int32Array): void {
  const w = schedule
  for (let at = 0; at < length; at += blockBytes) {
    for (let t = 0; t < 16; t++) w[t] = blocks.getInt32(at + 4 * t)
    for (let t = 16; t < 64; t++) {
      const before15 = w[t - 15]!
      const before2 = w[t - 2]!
      const far = rotate(before15, 7) ^ rotate(before15, 18) ^ (before15 >>> 3)
      const near = rotate(before2, 17) ^ rotate(before2, 19) ^ (before2 >>> 10)
      w[t] = w[t - 16]! + far + w[t - 7]! + near
    }
    let a = state[0]!
    let b = state[1]!
    let c = state[2]!
    let d = state[3]!
    let e = state[4]!
    let f = state[5]!
    let g = state[6]!
    let h = state[7]!
    for (let t = 0; t < 64; t++) {
      const first =
        (h +
          (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
          ((e & f) ^ (~e & g)) +
          constant[t]! +
          w[t]!) |
        0
      const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
      h = g
      g = f
      f = e
      e = (d + first) | 0
      d = c
      c = b
      b = a
      a = (first + second) | 0
    }
    const last = [a, b, c, d, e, f, g, h]
    for (let i = 0; i < 8; i++) state[i]! += last[i]!
  }
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

let constants: { readonly initial: Int32Array; readonly rounds: Int32Array } | undefined

function makeConstants() {
  const { square, cube } = primeRoots()
  const words = (roots: readonly bigint[]) =>
    Int32Array.from(roots, (root) => Number(BigInt.asIntN(32, root >> 32n)))
  return { initial: words(square), rounds: words(cube.slice(0, 64)) }
}
