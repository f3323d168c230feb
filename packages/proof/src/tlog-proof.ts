import { assert } from "./assert.ts"
import { parseCheckpoint, parseDecimal, type Checkpoint } from "./checkpoint.ts"
import { ed25519Verify, type Verify } from "./ed25519.ts"
import { equalBytes, fromBase64, toBase64, toHex } from "./encoding.ts"
import { openNote, parseNote, type VerifiedSignature } from "./note.ts"
import { eventHash, parseRecord, type RecordFields } from "./record.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { isHash, isSize, rootFromInclusion } from "./tree.ts"
import { parseVkey, type Vkey } from "./vkey.ts"

/**
 * A file that proves, offline, that an entry stands in a log (C2SP tlog-proof):
 *
 *     c2sp.org/tlog-proof@v1
 *     extra <base64>              optional; we put the record here, so that the file needs nothing beside it
 *     index <decimal>
 *     <base64 of a hash>          any number: the siblings, from the leaf upwards
 *
 *     <checkpoint>                the signed note to the end, verbatim
 *
 * Nothing but the checkpoint is signed. So `extra` and the hashes count only if the root that is
 * computed from them equals the checkpoint's.
 */
export type TlogProof = {
  readonly extra?: Uint8Array
  readonly index: number
  readonly hashes: readonly Uint8Array[]
  readonly checkpoint: string
}

/** A tree of 2^53 leaves needs no more. */
const proofHashesMax = 53

export function formatTlogProof({ extra, index, hashes, checkpoint }: TlogProof): string {
  assert(
    isSize(index) && hashes.every(isHash) && hashes.length <= proofHashesMax,
    "a proof has an index and hashes",
  )
  assert(extra === undefined || extra.length > 0, "the extra line is absent or has bytes")
  const extraLine = extra ? `extra ${toBase64(extra)}\n` : ""
  return `${header}\n${extraLine}index ${index}\n${hashes.map((hash) => `${toBase64(hash)}\n`).join("")}\n${checkpoint}`
}

/**
 * Undefined unless `formatTlogProof` writes the same text. The checkpoint is a note whose
 * signatures are not checked yet.
 */
export function parseTlogProof(text: string): TlogProof | undefined {
  const blank = text.indexOf("\n\n")
  if (blank < 0) return undefined
  const checkpoint = text.slice(blank + 2)
  const [first, ...lines] = text.slice(0, blank).split("\n")
  if (first !== header || !parseNote(checkpoint)) return undefined

  const extraText = lines[0]?.startsWith("extra ")
    ? lines.shift()?.slice("extra ".length)
    : undefined
  const extra = extraText === undefined ? undefined : fromBase64(extraText)
  if (extraText !== undefined && !extra?.length) return undefined

  const indexLine = lines.shift()
  const index = indexLine?.startsWith("index ")
    ? parseDecimal(indexLine.slice("index ".length))
    : undefined
  if (index === undefined || lines.length > proofHashesMax) return undefined

  const hashes: Uint8Array[] = []
  for (const line of lines) {
    const hash = fromBase64(line)
    if (!hash || !isHash(hash)) return undefined
    hashes.push(hash)
  }
  return { ...(extra && { extra }), index, hashes, checkpoint }
}

export type VerifiedTlogProof =
  | {
      readonly ok: true
      readonly record: RecordFields
      readonly checkpoint: Checkpoint
      /**
       * Signatures by the log and by given witnesses. The caller decides how many witnesses are
       * enough.
       */
      readonly signatures: readonly VerifiedSignature[]
    }
  | TlogProofRefuted

export type TlogProofRefuted = {
  readonly ok: false
  readonly failure: TlogProofFailure
  readonly expected?: string
  readonly found?: string
}

/**
 * `malformed`: no such file. `record`: the entry is no record of a ledger, or is missing.
 * `unsigned`: no given key signed the checkpoint. `signature`: a signature under a given key's name
 * does not hold. `origin`: the key that signed belongs to another log. `inclusion`: the record is
 * not at its index in the tree. `link`: its previous hash is not that of the entry before it.
 */
export type TlogProofFailure =
  | "malformed"
  | "record"
  | "unsigned"
  | "signature"
  | "origin"
  | "inclusion"
  | "link"

export type TlogProofOptions = {
  /** The record to prove. Without it, the record in the file's `extra`. */
  readonly record?: Uint8Array
  /** Keys of the log and of witnesses. Malformed ones are ignored. */
  readonly vkeys: readonly string[]
  readonly hash?: Sha256
  readonly verify?: Verify
}

/** Checks that a log with one of these keys contains the record. */
export function verifyTlogProof(text: string, options: TlogProofOptions): VerifiedTlogProof {
  const { hash = sha256, verify = ed25519Verify } = options
  const proof = parseTlogProof(text)
  const head = proof && parseNote(proof.checkpoint)
  const checkpoint = head && parseCheckpoint(head.text)
  if (!proof || !checkpoint) return { ok: false, failure: "malformed" }

  const bytes = options.record ?? proof.extra
  const record = bytes && parseRecord(bytes)
  // If a file contained one record and proved another, different readers would understand different
  // things.
  if (!bytes || !record || (proof.extra && !equalBytes(proof.extra, bytes)))
    return { ok: false, failure: "record" }

  const keys = options.vkeys
    .map((vkey) => parseVkey(vkey, hash))
    .filter((key): key is Vkey => key !== undefined)
  const note = openNote(proof.checkpoint, keys, verify)
  if (!note.ok) return { ok: false, failure: note.reason }
  const logKeys = note.signatures.map(({ key }) => key).filter((key) => key.type === "log")
  const [other] = logKeys
  if (!other) return { ok: false, failure: "unsigned" }
  if (!logKeys.some((key) => key.name === checkpoint.origin))
    return refuted("origin", other.name, checkpoint.origin)

  const { index, hashes } = proof
  if (index !== record.index) return refuted("inclusion", String(record.index), String(index))
  const root = rootFromInclusion(eventHash(bytes, hash), index, checkpoint.size, hashes, hash)
  if (!root || !equalBytes(root, checkpoint.root))
    return refuted("inclusion", toHex(checkpoint.root), root ? toHex(root) : "none")
  // At an odd index the first sibling is the entry before it.
  const [before] = index % 2 === 1 ? hashes : []
  if (before && !equalBytes(before, record.previousHash))
    return refuted("link", toHex(before), toHex(record.previousHash))
  return { ok: true, record, checkpoint, signatures: note.signatures }
}

function refuted(failure: TlogProofFailure, expected: string, found: string): TlogProofRefuted {
  return { ok: false, failure, expected, found }
}

const header = "c2sp.org/tlog-proof@v1"
