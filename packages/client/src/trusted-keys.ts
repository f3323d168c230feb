import { parseVkey } from "@tallystick/proof"
import { invalidRequest } from "./error.ts"

/**
 * The keys that a caller trusts, as in their files: around them may be white space. A malformed one
 * would only make every verdict `unconfirmed`, and nobody would know why.
 */
export function vkeysOf(trustedKeys: readonly string[]): readonly string[] {
  if (!Array.isArray(trustedKeys)) throw invalidRequest("trustedKeys must be an array")
  return trustedKeys.map((key: unknown, at) => {
    const vkey = typeof key === "string" ? key.trim() : ""
    if (parseVkey(vkey) !== undefined) return vkey
    throw invalidRequest(
      `trustedKeys[${at}] must be the vkey of a log: <name>+<8 hex digits>+<base64>`,
    )
  })
}
