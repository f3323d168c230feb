import {
  createVkey,
  ed25519PublicKey,
  ed25519Sign,
  formatVkey,
  type Signer,
} from "@tallystick/proof"

// Signers of notes for tests, with keys that are made of one byte.

export function signerOf(name: string, byte: number): Signer {
  const seed = new Uint8Array(32).fill(byte)
  return { name, publicKey: ed25519PublicKey(seed), sign: ed25519Sign(seed) }
}

export function vkeyOf({ name, publicKey }: Signer): string {
  return formatVkey(createVkey(name, publicKey))
}
