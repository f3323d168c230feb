// Ids: ten characters of time, then 130 random bits in 26 characters, in Crockford's base 32. Ids
// sort by time, so an index over them grows at its right edge. Nobody can guess one: the id of a
// public receipt is all that a reader needs.

import type { Random } from "./random.ts"

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const timeCharacters = 10
const randomBytes = 17

const pairs: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => `${alphabet[bits >>> 5]}${alphabet[bits & 31]}`,
)

export type MakeId = (prefix: "evt" | "rcp" | "pol" | "pack", timeMs: number) => string

export function createIds(random: Random): MakeId {
  const bytes = new Uint8Array(randomBytes)
  let lastMs = -1
  let lastTime = ""
  return (prefix, timeMs) => {
    if (timeMs !== lastMs) {
      lastMs = timeMs
      lastTime = timeText(timeMs)
    }
    random(bytes)
    return `${prefix}_${lastTime}${randomText(bytes)}`
  }
}

function timeText(timeMs: number): string {
  let text = ""
  let rest = timeMs
  for (let count = 0; count < timeCharacters; count++) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** Thirteen groups of ten bits each. */
function randomText(bytes: Uint8Array): string {
  let text = ""
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0x3ffff
    held += 8
    if (held < 10) continue
    held -= 10
    text += pairs[(bits >>> held) & 1023]
  }
  return text
}
