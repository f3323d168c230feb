import { primeRoots } from "./prime-roots.ts"

/**
 * SHA-512 (FIPS 180-4) for what is public: the note under a signature. It is small rather than
 * fast, so that a page can verify a receipt with 14 kB of code; its time depends on what it hashes,
 * so secrets stay away from it.
 */
export function sha512(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((message.length + 17) / blockBytes) * blockBytes)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n)
  const { square, cube } = primeRoots()
  // Eight primes have eight roots.
  let state = square as unknown as State
  for (let at = 0; at < padded.length; at += blockBytes)
    state = compress(state, new DataView(padded.buffer, at), cube)
  const hash = new DataView(new ArrayBuffer(64))
  for (const [i, word] of state.entries()) hash.setBigUint64(8 * i, word)
  return new Uint8Array(hash.buffer)
}

type State = readonly [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint]

const blockBytes = 128
const rounds = 80

function compress(state: State, block: DataView, constant: readonly bigint[]): State {
  // A view of words gives each as a number, and keeps its last 64 bits.
  const schedule = new DataView(new ArrayBuffer(8 * rounds))
  const word = (t: number): bigint => schedule.getBigUint64(8 * t)
  let [a, b, c, d, e, f, g, h] = state
  for (const [t, k] of constant.entries()) {
    schedule.setBigUint64(
      8 * t,
      t < 16
        ? block.getBigUint64(8 * t)
        : expand(word(t - 2), word(t - 7), word(t - 15), word(t - 16)),
    )
    const first =
      h +
      (rotate(e, 14n) ^ rotate(e, 18n) ^ rotate(e, 41n)) +
      ((e & f) ^ (low(~e) & g)) +
      k +
      word(t)
    const second =
      (rotate(a, 28n) ^ rotate(a, 34n) ^ rotate(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c))
    ;[a, b, c, d, e, f, g, h] = [low(first + second), a, b, c, low(d + first), e, f, g]
  }
  const [a0, b0, c0, d0, e0, f0, g0, h0] = state
  return [
    low(a + a0),
    low(b + b0),
    low(c + c0),
    low(d + d0),
    low(e + e0),
    low(f + f0),
    low(g + g0),
    low(h + h0),
  ]
}

function expand(before2: bigint, before7: bigint, before15: bigint, before16: bigint): bigint {
  const far = rotate(before15, 1n) ^ rotate(before15, 8n) ^ (before15 >> 7n)
  const near = rotate(before2, 19n) ^ rotate(before2, 61n) ^ (before2 >> 6n)
  return before16 + far + before7 + near
}

function low(word: bigint): bigint {
  return BigInt.asUintN(64, word)
}

function rotate(word: bigint, bits: bigint): bigint {
  return low((word >> bits) | (word << (64n - bits)))
}
