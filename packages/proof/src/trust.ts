import { parseCheckpoint, type Checkpoint } from "./checkpoint.ts"
import type { Verify } from "./ed25519.ts"
import { openNote, parseNote, type VerifiedSignature } from "./note.ts"
import { formatVkey, parseVkey, type Vkey } from "./vkey.ts"

/** A checkpoint, and the given keys that signed it, perhaps none. */
export type SignedCheckpoint = {
  readonly checkpoint: Checkpoint
  readonly signatures: readonly VerifiedSignature[]
}

/**
 * Undefined if the text is no signed checkpoint, or if a signature by a given key does not hold.
 * Checks signatures by the file's own key and by the keys that the caller trusts: during an overlap
 * two keys sign, and a caller may know only one of them.
 */
export function openCheckpoint(
  note: string,
  named: Vkey,
  trustedKeys: readonly string[],
  verify?: Verify,
): SignedCheckpoint | undefined {
  const trusted = trustedKeys.map((vkey) => parseVkey(vkey)).filter((key) => key !== undefined)
  const opened = openNote(note, [named, ...trusted], verify)
  const checkpoint = parseCheckpoint(parseNote(note)?.text ?? "")
  if (checkpoint === undefined || (!opened.ok && opened.reason !== "unsigned")) return undefined
  return { checkpoint, signatures: opened.ok ? opened.signatures : [] }
}

/** Whether a trusted key of the log signed. Malformed keys are not trusted. */
export function isTrusted(
  { checkpoint, signatures }: SignedCheckpoint,
  trustedKeys: readonly string[],
): boolean {
  return signatures.some(
    ({ key }) =>
      key.type === "log" && key.name === checkpoint.origin && trustedKeys.includes(formatVkey(key)),
  )
}

/**
 * The key of the log that signed: a trusted one if there is one, or else the first. Anyone can add a
 * signature with a key of their own.
 */
export function signerOf(
  { checkpoint, signatures = [] }: Partial<SignedCheckpoint>,
  trustedKeys: readonly string[],
): Vkey | undefined {
  const keys = signatures
    .map(({ key }) => key)
    .filter(({ type, name }) => type === "log" && name === checkpoint?.origin)
  return keys.find((key) => trustedKeys.includes(formatVkey(key))) ?? keys[0]
}
