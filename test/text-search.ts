// Searches bytes for many texts at once: a run may have thousands of secrets, and megabytes of
// files that must have none. It looks at one place and goes on by as many bytes as no text can
// begin at (Wu and Manber, 1994).

/** Four bytes that are looked at together. */
const block = 4

/** Returns a function that finds one of these texts in bytes; undefined if there is none. */
export function createTextSearch(
  texts: readonly string[],
): (bytes: Uint8Array) => string | undefined {
  const sought = texts.map((text) => ({ text, bytes: Buffer.from(text) }))
  const short = sought.filter(({ bytes }) => bytes.length < block)
  const long = sought.filter(({ bytes }) => bytes.length >= block)
  const width = Math.min(...long.map(({ bytes }) => bytes.length), 255)
  /** Texts by the last block of their first `width` bytes. */
  const byBlock = Map.groupBy(long, ({ bytes }) => bytes.readInt32LE(width - block))
  /** By a block's hash, how far the next place is at which a text could have its last block. */
  const steps = new Uint8Array(0x40000).fill(width - block + 1)
  for (const { bytes } of long)
    for (let at = 0; at <= width - block; at++) {
      const hash = hashOf(bytes.readInt32LE(at))
      steps[hash] = Math.min(steps[hash] ?? 0, width - block - at)
    }
  return (bytes) => {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    const found = short.find((one) => all.includes(one.bytes))
    if (found !== undefined || long.length === 0) return found?.text
    for (let at = width - block; at <= all.length - block;) {
      const here =
        (all[at] ?? 0) |
        ((all[at + 1] ?? 0) << 8) |
        ((all[at + 2] ?? 0) << 16) |
        ((all[at + 3] ?? 0) << 24)
      const step = steps[hashOf(here)] ?? 0
      at += step
      if (step > 0) continue
      const first = at - width + block
      const one = byBlock
        .get(here)
        ?.find(({ bytes }) => all.subarray(first, first + bytes.length).equals(bytes))
      if (one !== undefined) return one.text
      at += 1
    }
    return undefined
  }
}

function hashOf(four: number): number {
  return Math.imul(four, 0x9e3779b1) >>> 14
}
