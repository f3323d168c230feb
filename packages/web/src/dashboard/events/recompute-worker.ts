// Recomputes entries in a worker, so that hundreds of them never delay a frame.

import { ed25519Verify, toHex, type Verify } from "@tallystick/proof"
import { recomputeEntry } from "./recompute-entry.ts"
import type { Task } from "./recompute.ts"

onmessage = ({ data: { id, entries, trustedKeys } }: MessageEvent<Task>) => {
  const verify = rememberingVerify()
  const found = entries.map((entry) => recomputeEntry(entry, trustedKeys, verify))
  // The type of a window's postMessage differs.
  ;(self as unknown as { postMessage(answer: object): void }).postMessage({ id, found })
}

/**
 * Cached, because the entries of a page share a checkpoint, whose signature takes longer than the
 * rest.
 */
function rememberingVerify(): Verify {
  const known = new Map<string, boolean>()
  return (signature, message, publicKey) => {
    const key = [signature, message, publicKey].map((bytes) => toHex(bytes)).join(" ")
    const isValid = known.get(key) ?? ed25519Verify(signature, message, publicKey)
    known.set(key, isValid)
    return isValid
  }
}
