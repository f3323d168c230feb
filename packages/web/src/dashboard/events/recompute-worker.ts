// Recomputes entries in a worker, so that hundreds of them never delay a frame.

import { ed25519Verify, toHex, verifyReceipt, type Verdict, type Verify } from "@tallystick/proof"
import type { ListedEntry } from "@tallystick/client/wire"
import type { Recomputed, Task } from "./recompute.ts"

onmessage = ({ data: { id, entries, trustedKeys } }: MessageEvent<Task>) => {
  const verify = rememberingVerify()
  const found = entries.map((entry) => recompute(entry, trustedKeys, verify))
  // The type of a window's postMessage differs.
  ;(self as unknown as { postMessage(answer: object): void }).postMessage({ id, found })
}

function recompute(
  { proof, disclosures, ...entry }: ListedEntry,
  trustedKeys: readonly string[],
  verify: Verify,
): Recomputed {
  const verdict = verifyReceipt({ entry, proof, disclosures }, { trustedKeys, verify })
  const { record, eventHash, checkpoint } = verdict
  return {
    state: stateOf(verdict),
    isKeyTrusted: verdict.verdict === "genuine" || isOfRecord(verdict),
    ...(eventHash !== undefined && { hash: eventHash }),
    ...(record !== undefined && { previousHash: toHex(record.previousHash) }),
    ...(checkpoint !== undefined && { checkpointSize: checkpoint.size }),
    ...(verdict.verdict === "refuted" && {
      failure: verdict.field ?? verdict.failure,
      expected: verdict.expected,
      found: verdict.found,
    }),
  }
}

function stateOf(verdict: Verdict): Recomputed["state"] {
  if (verdict.verdict === "refuted") return "broken"
  if (verdict.verdict === "genuine" || verdict.because === "key_not_trusted" || isOfRecord(verdict))
    return "sealed"
  return verdict.because === "not_sealed" ? "pending" : "unproven"
}

/** Whether everything that is left without the content is intact. */
function isOfRecord(verdict: Verdict): boolean {
  return verdict.verdict === "unconfirmed" && verdict.because === "content_missing"
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
