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

/** The key of the log that signed, and whether the caller trusts it. */
export type LogSigner = { readonly key?: Vkey; readonly isTrusted: boolean }

/**
 * A trusted key if one signed, or else the first: anyone can add a signature with a key of their
 * own. Malformed keys are not trusted.
 */
export function signerOf(
  { checkpoint, signatures }: SignedCheckpoint,
  trustedKeys: readonly string[],
): LogSigner {
  const keys = signatures
    .map(({ key }) => key)
    .filter(({ type, name }) => type === "log" && name === checkpoint.origin)
  const trusted = keys.find((key) => trustedKeys.includes(formatVkey(key)))
  const key = trusted ?? keys[0]
  return { ...(key && { key }), isTrusted: trusted !== undefined }
}
