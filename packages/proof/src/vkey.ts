import { assert } from "./assert.ts"
import { publicKeyBytes } from "./ed25519.ts"
import { equalBytes, fromBase64, fromHex, toBase64, toHex, utf8 } from "./encoding.ts"
import { preimage } from "./preimage.ts"
import { sha256, type Sha256 } from "./sha256.ts"

/**
 * A public key for signed notes, with the name of the signer, on one line:
 *
 *     vkey  = name "+" hex8(keyId) "+" base64( type byte || public key )
 *     keyId = SHA-256( name || 0x0A || type byte || public key )[0:4]
 *
 * The base64 may contain a "+" too, the name may not. Of the types that the C2SP registry lists,
 * this package reads those by Ed25519.
 */
export type Vkey = {
  readonly name: string
  readonly keyId: Uint8Array
  readonly type: KeyType
  readonly publicKey: Uint8Array
}

/**
 * `log` signs the text of a note. `cosignature` is a witness's: it signs the text of a checkpoint
 * together with a time.
 */
export type KeyType = keyof typeof keyTypes

const keyTypes = { log: 1, cosignature: 4 } as const
export const keyIdBytes = 4

export function createVkey(
  name: string,
  publicKey: Uint8Array,
  type: KeyType = "log",
  hash: Sha256 = sha256,
): Vkey {
  return { name, keyId: keyId(name, publicKey, type, hash), type, publicKey }
}

export function keyId(
  name: string,
  publicKey: Uint8Array,
  type: KeyType = "log",
  hash: Sha256 = sha256,
): Uint8Array {
  assert(isKeyName(name) && publicKey.length === publicKeyBytes, "a key has a name, and 32 bytes")
  return hash(preimage(utf8(`${name}\n`), Uint8Array.of(keyTypes[type]), publicKey)).slice(
    0,
    keyIdBytes,
  )
}

export function formatVkey(key: Vkey): string {
  return `${key.name}+${toHex(key.keyId)}+${toBase64(Uint8Array.of(keyTypes[key.type], ...key.publicKey))}`
}

/**
 * Undefined if it is malformed, has a wrong key id, or has a type that this package cannot verify.
 */
export function parseVkey(text: string, hash: Sha256 = sha256): Vkey | undefined {
  const [, name, idText, keyText] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(text) ?? []
  if (name === undefined || idText === undefined || keyText === undefined || !isKeyName(name))
    return undefined
  const id = fromHex(idText)
  const typedKey = fromBase64(keyText)
  if (!id || typedKey?.length !== 1 + publicKeyBytes) return undefined
  const type =
    typedKey[0] === keyTypes.log
      ? "log"
      : typedKey[0] === keyTypes.cosignature
        ? "cosignature"
        : undefined
  const key = type && createVkey(name, typedKey.slice(1), type, hash)
  return key && equalBytes(key.keyId, id) ? key : undefined
}

/**
 * A name is not empty and has no white space, control character, or "+", so its end in a line is
 * certain.
 */
export function isKeyName(name: string): boolean {
  return /^[^\s+\p{Cc}]+$/u.test(name) && name.isWellFormed()
}
