// Derives every key of the service from its one secret, and encrypts with them.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"

const secretBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** A key for one purpose. `about` distinguishes keys of the same purpose. */
export function deriveKey(
  secret: Uint8Array,
  purpose:
    | "token pepper"
    | "log keys"
    | "idempotency"
    | "member ids"
    | "passwords"
    | "instance key"
    | "keyring"
    | "first secret"
    | "list cursors"
    | "retention previews",
  about: Uint8Array = new Uint8Array(),
): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, about, `tallystick ${purpose}`, secretBytes))
}

/** Encrypts a secret for storage. It is bound to a name, so that nobody can swap two secrets. */
export function wrap(key: Uint8Array, name: string, secret: Uint8Array): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name))
  return Buffer.concat([
    nonce,
    cipher.update(secret),
    cipher.final(),
    cipher.getAuthTag(),
  ]).toString("base64")
}

/** Throws for another key or name, or if a byte was changed. */
export function unwrap(key: Uint8Array, name: string, wrapped: string): Uint8Array {
  const bytes = Buffer.from(wrapped, "base64")
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes)).setAAD(
    Buffer.from(name),
  )
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
}
