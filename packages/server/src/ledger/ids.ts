// Ids: ten characters of time, then 130 random bits in 26 characters, in Crockford's base 32. Ids
// sort by time, so an index over them grows at its right edge. Nobody can guess one: the id of a
// public receipt is all that a reader needs.

import type { Random } from "./random.ts"

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const letters = Buffer.from(alphabet, "latin1")
const timeCharacters = 10
const randomCharacters = 26
const randomBytes = 17

/** Where the time begins if the prefix has the most characters, four. */
const timeAt = "pack_".length
const randomAt = timeAt + timeCharacters

export type MakeId = (
  prefix: "evt" | "rcp" | "pol" | "pack" | "era" | "hold" | "exp",
  timeMs: number,
) => string

export function createIds(random: Random): MakeId {
  const bytes = new Uint8Array(randomBytes)
  // Each id overwrites the one before, so that it costs one string and not one for each part.
  const text = Buffer.alloc(randomAt + randomCharacters, "_")
  let lastMs = -1
  return (prefix, timeMs) => {
    const start = timeAt - 1 - prefix.length
    text.latin1Write(prefix, start)
    if (timeMs !== lastMs) {
      lastMs = timeMs
      text.latin1Write(timeText(timeMs), timeAt)
    }
    random(bytes)
    writeRandom(bytes, text)
    return text.latin1Slice(start)
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

/** Five bits for each character. */
function writeRandom(bytes: Uint8Array, text: Buffer): void {
  let bits = 0
  let held = 0
  let from = 0
  for (let at = randomAt; at < text.length; at++) {
    if (held < 5) {
      bits = ((bits << 8) | (bytes[from++] as number)) & 0xfff // 26 characters take 130 of 136 bits
      held += 8
    }
    held -= 5
    text[at] = letters[(bits >>> held) & 31] as number // below 32
  }
}
