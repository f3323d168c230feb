// Looks for many texts in the same bytes at once: a run may have thousands of secrets, none of which
// may stand in megabytes of files.

/** Returns a function that gives one of these texts that the bytes hold; undefined if they hold none. */
export function createTextSearch(
  texts: readonly string[],
): (bytes: Uint8Array) => string | undefined {
  const sought = texts.map((text) => ({ text, bytes: Buffer.from(text) }))
  const short = sought.filter(({ bytes }) => bytes.length < 4)
  const byStart = Map.groupBy(
    sought.filter(({ bytes }) => bytes.length >= 4),
    ({ bytes }) => bytes.readInt32LE(),
  )
  /** For a number of 16 bits that follows from the first four bytes of a text. */
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
