// Seals password hashes after the first rotation of the secret. Hashes are keyed with the first
// secret for ever, so somebody with that secret and the database could guess passwords. Sealing the
// hashes under the newest secret prevents that.

import { utf8 } from "@tallystick/proof"
import { generationOf, seal, unseal, type Keyring } from "../secrets/keyring.ts"
import type { MemberDocument } from "../store/documents.ts"

type KeptPassword = Pick<MemberDocument, "password" | "login">

const name = "password"

export function sealPassword(keyring: Keyring, text: string): string {
  return keyring.generation === 1 ? text : seal(keyring, "keyring", name, utf8(text))
}

/**
 * Empty if the stored text is not valid; it then matches no password. Unsealed text is invalid once
 * all hashes are sealed.
 */
export function openPassword(keyring: Keyring, kept: string): string {
  const generation = generationOf(kept)
  if (
    generation !== keyring.generation &&
    (keyring.before === undefined || generation !== keyring.generation - 1)
  )
    return ""
  try {
    return generation === 1 ? kept : Buffer.from(unseal(keyring, "keyring", name, kept)).toString()
  } catch {
    return ""
  }
}

/** Reseals under the newest secret; undefined if it is sealed so already, or invalid. */
export function passwordAnew(
  keyring: Keyring,
  { password, login }: KeptPassword,
): KeptPassword | undefined {
  const opened = openPassword(keyring, password)
  if (opened === "" || generationOf(password) === keyring.generation) return undefined
  const openLogin = openPassword(keyring, login)
  return { password: sealPassword(keyring, opened), login: sealPassword(keyring, openLogin) }
}
