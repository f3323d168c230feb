import { parseCheckpoint, type Checkpoint } from "./checkpoint.ts"
import type { Verify } from "./ed25519.ts"
import { openNote, parseNote, type VerifiedSignature } from "./note.ts"
import { formatVkey, parseVkey, type Vkey } from "./vkey.ts"

/** A checkpoint, and which of the keys that were asked about signed it: perhaps none. */
export type SignedCheckpoint = {
  readonly checkpoint: Checkpoint
  readonly signatures: readonly VerifiedSignature[]
}

/**
 * Undefined if it is no signed checkpoint, or if a signature in the name of a given key does not
 * hold. Beside the key that a file names itself, those that the caller trusts are asked about:
 * while one key takes over from another both sign, and whoever knows one of them must find it.
 */
export function openCheckpoint(
  note: string,
  named: readonly Vkey[],
  trustedKeys: readonly string[],
  verify?: Verify,
): SignedCheckpoint | undefined {
  const trusted = trustedKeys.map((vkey) => parseVkey(vkey)).filter((key) => key !== undefined)
  const opened = openNote(note, [...named, ...trusted], verify)
  const checkpoint = parseCheckpoint(parseNote(note)?.text ?? "")
  if (checkpoint === undefined || (!opened.ok && opened.reason !== "unsigned")) return undefined
  return { checkpoint, signatures: opened.ok ? opened.signatures : [] }
}

/**
 * Whether a key of the log itself that the caller trusts signed. What cannot be read as a key is
 * not trusted.
 */
export function isTrusted(
  { checkpoint, signatures }: SignedCheckpoint,
  trustedKeys: readonly string[],
): boolean {
  return signatures.some(
    ({ key }) =>
      key.type === "log" && key.name === checkpoint.origin && trustedKeys.includes(formatVkey(key)),
  )
}
