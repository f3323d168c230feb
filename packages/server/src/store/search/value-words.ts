// The words of a value that is in lower case, by its bytes.

import { wordsOf } from "@tallystick/client/grammar"

/** Told where each word stands. */
export type EachWord = (from: Uint8Array, start: number, end: number) => void

export function eachWord(from: Buffer, start: number, end: number, told: EachWord): void {
  for (let at = start; at < end; at++)
    if ((from[at] ?? 0) >= 0x80) {
      for (const word of wordsOf(from.utf8Slice(start, end))) {
        const bytes = Buffer.from(word)
        told(bytes, 0, bytes.length)
      }
      return
    }
  let begun = -1
  for (let at = start; at < end; at++) {
    if (isLetterOrDigit(from[at] ?? 0)) {
      if (begun < 0) begun = at
    } else if (begun >= 0) {
      told(from, begun, at)
      begun = -1
    }
  }
  if (begun >= 0) told(from, begun, end)
}

function isLetterOrDigit(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39)
}

/** Whether these words stand in a row in a value; of the last one its start may be enough. */
export function hasPhrase(
  from: Buffer,
  start: number,
  end: number,
  words: readonly Uint8Array[],
  isPrefix: boolean,
): boolean {
  // For each number of words: whether so many of the first have just been met in a row.
  const met = new Uint8Array(words.length + 1)
  let isFound = false
  eachWord(from, start, end, (bytes, wordStart, wordEnd) => {
    for (let count = words.length; count > 0; count--) {
      const isLast = count === words.length
      const follows = count === 1 || met[count - 1] === 1
      const wanted = words[count - 1]
      const fits =
        follows &&
        wanted !== undefined &&
        isWord(bytes, wordStart, wordEnd, wanted, isLast && isPrefix)
      met[count] = fits ? 1 : 0
      if (fits && isLast) isFound = true
    }
  })
  return isFound
}

function isWord(
  from: Uint8Array,
  start: number,
  end: number,
  wanted: Uint8Array,
  isPrefix: boolean,
): boolean {
  const { length } = wanted
  if (isPrefix ? end - start < length : end - start !== length) return false
  for (let at = 0; at < length; at++) if (from[start + at] !== wanted[at]) return false
  return true
}
