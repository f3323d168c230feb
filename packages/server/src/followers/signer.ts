// Signs checkpoints with the keys of the registry. A key is unsealed only here, in the thread that
// signs.

import { createPrivateKey, sign, type KeyObject } from "node:crypto"
import { parseVkey, type Signer } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { unseal, type Keyring } from "../secrets/keyring.ts"
import type { Epoch } from "../store/epochs.ts"
import { logKeys, type LogKey } from "../store/log-keys.ts"
import type { JournalReader, Registry } from "../store/store.ts"

/**
 * The signers of a tree of this size, if the tree before had `sizeBefore` entries. The current key
 * comes first.
 */
export type SignersOf = (
  epoch: Epoch,
  size: number,
  sizeBefore: number,
) => Promise<readonly Signer[]>

export interface SignerParts {
  readonly registry: Registry
  readonly journal: Pick<JournalReader, "records">
  readonly keyring: Keyring
  readonly clock: Clock
}

/** The DER prefix of an Ed25519 private key. The 32 bytes of the seed follow. */
const derPrefix = Buffer.from("302e020100300506032b657004220420", "hex")

/**
 * Keys that are read: the current one, the one before, and those whose announcement the tree does
 * not have yet, usually one at most.
 */
const keysRead = 10

export function createSigners({ registry, journal, keyring, clock }: SignerParts): SignersOf {
  const known = new Map<string, Signer>()

  const signerFor = (key: LogKey): Signer => {
    const seen = known.get(key.vkey)
    if (seen !== undefined) return seen
    const vkey = parseVkey(key.vkey)
    if (vkey === undefined) throw new Error(`${key.vkey} is no key to sign with`)
    const privateKey = privateKeyOf(unseal(keyring, "log keys", key.vkey, key.wrapped))
    const signer: Signer = {
      name: vkey.name,
      publicKey: vkey.publicKey,
      sign: (message) => sign(null, message, privateKey),
    }
    known.set(key.vkey, signer)
    return signer
  }

  return async (epoch, size, sizeBefore) => {
    const [newest, before] = (await logKeys({ registry, journal }, epoch, keysRead)).filter(
      ({ fromSize }) => fromSize <= size,
    )
    if (newest === undefined) throw new Error(`the log ${epoch.origin} has no key to sign with`)
    // A verifier that trusts only the old key needs a checkpoint that the old key signed and that
    // covers the announcement of the new key.
    const isFirst = sizeBefore < newest.fromSize
    const overlaps = isFirst || clock.now() < Date.parse(before?.overlapUntil ?? "")
    // A destroyed key cannot sign. Its successor was announced under its signature.
    const former = before !== undefined && overlaps && before.wrapped !== "" ? [before] : []
    return [newest, ...former].map(signerFor)
  }
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([derPrefix, seed]), format: "der", type: "pkcs8" })
}
