/**
 * Joins the parts of a preimage in memory that the next call reuses: fresh memory would cost as
 * much as the hash. Hash the result at once and do not keep it.
 */
export function preimage(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const whole = memory(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The same for one text in UTF-8. */
export function preimageOfText(text: string): Uint8Array {
  // No UTF-16 unit takes more than three bytes.
  const whole = memory(text.length * 3)
  return whole.subarray(0, encoder.encodeInto(text, whole).written)
}

const encoder = new TextEncoder()
const shared = new Uint8Array(4096)

function memory(length: number): Uint8Array {
  return length <= shared.length ? shared.subarray(0, length) : new Uint8Array(length)
}
