import { crc32 } from "node:zlib"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** A credential with the digits at its end that show a mistyped one: anyone can compute them. */
export function withCheckDigits(text: string): string {
  let digits = ""
  for (let rest = crc32(text); digits.length < 6; rest = Math.floor(rest / 62))
    digits = alphabet.charAt(rest % 62) + digits
  return text + digits
}
