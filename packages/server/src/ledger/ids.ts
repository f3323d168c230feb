// Ids: ten characters of time, then 130 random bits in 26 characters, in Crockford's base 32. Ids
// sort by time, so an index over them grows at its right edge. Nobody can guess one: the id of a
// public receipt is all that a reader needs.

import type { Random } from "./random.ts"

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const timeCharacters = 10
const randomBytes = 17

const randomCharacters = 26

export type MakeId = (
  prefix: "evt" | "rcp" | "pol" | "pack" | "era" | "hold" | "exp",
  timeMs: number,
) => string

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

const letters = Buffer.from(alphabet, "latin1")
/**
 * A buffer that each id overwrites, so that an id costs one string and not one for each character.
 */
const text = Buffer.alloc(randomCharacters)

/** Five bits for each character. */
function randomText(bytes: Uint8Array): string {
  let bits = 0
  let held = 0
  let from = 0
  for (let at = 0; at < randomCharacters; at++) {
    if (held < 5) {
      bits = ((bits << 8) | (bytes[from++] as number)) & 0xfff // 26 characters take 130 of 136 bits
      held += 8
    }
    held -= 5
    text[at] = letters[(bits >>> held) & 31] as number // below 32
  }
  return text.latin1Slice()
}
