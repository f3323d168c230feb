// What is kept of passwords, once the data has had a second secret. Passwords are hashed under a key of the first one for ever: whoever has that,
// and the database, could try likely ones. So the hashes are sealed as well, under the newest secret.

import { utf8 } from "@tallystick/proof"
import { generationOf, seal, unseal, type Keyring } from "../secrets/keyring.ts"
import type { MemberDocument } from "../store/documents.ts"

type KeptPassword = Pick<MemberDocument, "password" | "login">

const name = "password"

export function sealPassword(keyring: Keyring, text: string): string {
  return keyring.generation === 1 ? text : seal(keyring, "keyring", name, utf8(text))
}

/** Empty, and fitting nothing, where somebody has put something else there: once all are sealed, also what is not. */
export function openPassword(keyring: Keyring, kept: string): string {
  const generation = generationOf(kept)
  if (generation !== keyring.generation && (keyring.before === undefined || generation !== keyring.generation - 1)) return ""
  try {
    return generation === 1 ? kept : Buffer.from(unseal(keyring, "keyring", name, kept)).toString()
  } catch {
    return ""
  }
}

/** The same under the newest secret; undefined where it is already, or is nothing. */
export function passwordAnew(keyring: Keyring, { password, login }: KeptPassword): KeptPassword | undefined {
  const opened = openPassword(keyring, password)
  if (opened === "" || generationOf(password) === keyring.generation) return undefined
  const anew = { password: sealPassword(keyring, opened) }
  return login === undefined ? anew : { ...anew, login: sealPassword(keyring, openPassword(keyring, login)) }
}
