// Searches bytes for many texts at once: a run may have thousands of secrets, and megabytes of
// files that must have none.

/** Returns a function that finds one of these texts in bytes; undefined if there is none. */
export function createTextSearch(
  texts: readonly string[],
): (bytes: Uint8Array) => string | undefined {
  const sought = texts.map((text) => ({ text, bytes: Buffer.from(text) }))
  const short = sought.filter(({ bytes }) => bytes.length < 4)
  const byStart = Map.groupBy(
    sought.filter(({ bytes }) => bytes.length >= 4),
    ({ bytes }) => bytes.readInt32LE(),
  )
  /** Indexed by a hash of 16 bits of a text's first four bytes. */
  const maybe = new Uint8Array(0x10000)
  for (const start of byStart.keys()) maybe[hashOf(start)] = 1
  return (bytes) => {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    const found = short.find((one) => all.includes(one.bytes))
    if (found !== undefined) return found.text
    let start = 0
    for (let at = 0; at < all.length; at++) {
      start = (start >>> 8) | ((all[at] ?? 0) << 24)
      if (maybe[hashOf(start)] === 0 || at < 3) continue
      const here = byStart.get(start)?.find((one) => {
        const place = all.subarray(at - 3, at - 3 + one.bytes.length)
        return place.equals(one.bytes)
      })
      if (here !== undefined) return here.text
    }
    return undefined
  }
}

function hashOf(start: number): number {
  return Math.imul(start, 0x9e3779b1) >>> 16
}
