import { getPublicKey, hashes, sign, verify } from "@noble/ed25519"
import { sha512 as sha512OfSecrets } from "@noble/hashes/sha2.js"
import { toHex } from "./encoding.ts"
import { sha512 } from "./sha512.ts"

/**
 * Signs with the private key that it holds, so that a caller may keep that key elsewhere: in a
 * worker, or in hardware.
 */
export type Sign = (message: Uint8Array) => Uint8Array
export type Verify = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean

export const publicKeyBytes = 32
export const signatureBytes = 64

/**
 * Ed25519 by RFC 8032, and stricter where implementations differ: no second encoding of a point or
 * scalar, no key of small order, under which one signature fits every message. Returns false, and
 * never throws, for any bytes.
 */
export const ed25519Verify: Verify = (signature, message, publicKey) => {
  if (signature.length !== signatureBytes || publicKey.length !== publicKeyBytes) return false
  // Without a given hash, noble needs crypto.subtle, which is asynchronous and missing on pages
  // over plain HTTP.
  hashes.sha512 ??= sha512
  return verify(signature, message, publicKey, { zip215: false })
}

const rememberedMax = 16

/** Remembers the last results: many entries are proven under one checkpoint. */
export function remembering(verify: Verify): Verify {
  const results = new Map<string, boolean>()
  return (signature, message, publicKey) => {
    const asked = [signature, message, publicKey].map((bytes) => toHex(bytes)).join()
    const result = results.get(asked) ?? verify(signature, message, publicKey)
    if (results.size === rememberedMax) results.clear()
    results.set(asked, result)
    return result
  }
}

/** The seed is the private key of RFC 8032: 32 random bytes. */
export function ed25519Sign(seed: Uint8Array): Sign {
  hashSecretsToo()
  return (message) => sign(message, seed)
}

export function ed25519PublicKey(seed: Uint8Array): Uint8Array {
  hashSecretsToo()
  return getPublicKey(seed)
}

/**
 * Signing hashes the key too, so the small hash, whose time depends on its input, must not be used.
 */
function hashSecretsToo(): void {
  if (hashes.sha512 === undefined || hashes.sha512 === sha512) hashes.sha512 = sha512OfSecrets
}
