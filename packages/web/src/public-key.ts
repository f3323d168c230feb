import { parseVkey, toHex } from "@tallystick/proof"

/** In hex; empty if this is no key. */
export function publicKeyOf(vkey: string): string {
  const key = parseVkey(vkey)
  return key === undefined ? "" : toHex(key.publicKey)
}
