// Signs a workspace's notes with the key that its registry holds. The key is unsealed here, in the thread that signs, and nowhere else.

import { createPrivateKey, sign, type KeyObject } from "node:crypto"
import { parseVkey, type Signer } from "@tallystick/proof"
import { deriveKey, unwrap } from "../secrets.ts"
import type { Registry } from "../store/store.ts"

/** What stands before the 32 bytes of a seed in the DER form of an Ed25519 private key. */
const derPrefix = Buffer.from("302e020100300506032b657004220420", "hex")

export function createSigners(registry: Registry, secret: Uint8Array): (workspace: string) => Promise<Signer> {
  const keysKey = deriveKey(secret, "log keys")
  const known = new Map<string, Signer>()
  return async (workspace) => {
    const seen = known.get(workspace)
    if (seen !== undefined) return seen
    const [newest] = await registry.list("log-key", workspace, Number.MAX_SAFE_INTEGER, 1)
    const vkey = newest === undefined ? undefined : parseVkey(newest.value.vkey)
    if (newest === undefined || vkey === undefined) throw new Error(`workspace ${workspace} has no key to sign with`)
    const key = privateKey(unwrap(keysKey, newest.value.vkey, newest.value.wrapped))
    const signer: Signer = { name: vkey.name, publicKey: vkey.publicKey, sign: (message) => sign(null, message, key) }
    known.set(workspace, signer)
    return signer
  }
}

function privateKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([derPrefix, seed]), format: "der", type: "pkcs8" })
}
