import { assert } from "./assert.ts"
import { ed25519Verify, signatureBytes, type Sign, type Verify } from "./ed25519.ts"
import { concat, equalBytes, fromBase64, toBase64, utf8 } from "./encoding.ts"
import { isSize } from "./tree.ts"
import { isKeyName, keyId, keyIdBytes, type Vkey } from "./vkey.ts"

/**
 * A signed note (C2SP signed-note): text that ends with a newline, a blank line, and one line for
 * each signature:
 *
 *     <text>
 *
 *     — <name> base64( keyId[4] || signature )
 *
 * The line begins with an em dash, U+2014. What is signed is the text with its last newline,
 * without the blank line. The text may contain blank lines itself; the signatures stand behind the
 * last one.
 *
 * A witness's cosignature (C2SP tlog-cosignature) is a line of the same form. Its signature is a
 * time before 64 bytes of Ed25519:
 *
 *     signature = uint64 seconds || Ed25519( "cosignature/v1\ntime <seconds>\n" || text )
 */
export type Note = { readonly text: string; readonly signatures: readonly SignatureLine[] }
export type SignatureLine = {
  readonly name: string
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

/**
 * A verified signature by a given key; `timeSeconds` is the time at which a witness claims to have
 * seen the checkpoint.
 */
export type VerifiedSignature = { readonly key: Vkey; readonly timeSeconds?: number }

export type OpenedNote =
  | { readonly ok: true; readonly text: string; readonly signatures: readonly VerifiedSignature[] }
  | { readonly ok: false; readonly reason: NoteFailure; readonly name?: string }

/**
 * `malformed`: not a note. `unsigned`: no signature by a given key. `signature`: one by a given
 * key, `name`, does not hold.
 */
export type NoteFailure = "malformed" | "unsigned" | "signature"

export type Signer = { readonly name: string; readonly publicKey: Uint8Array; readonly sign: Sign }

/**
 * More than the 16 that a reader must accept, and few enough that a hostile note is read quickly.
 */
const noteSignaturesMax = 100
const noteLengthMax = 1_000_000

/** Signs with each of the keys: two of them while one takes over from the other. */
export function signNote(text: string, ...signers: readonly Signer[]): string {
  assert(isNoteText(text) && signers.length > 0, "a note has valid text and at least one signer")
  const lines = signers.map((signer) =>
    formatSignatureLine({
      name: signer.name,
      keyId: keyId(signer.name, signer.publicKey),
      signature: signer.sign(utf8(text)),
    }),
  )
  return `${text}\n${lines.join("")}`
}

/** A witness's line for this checkpoint text, to be put at the end of the note. */
export function cosign(text: string, timeSeconds: number, signer: Signer): string {
  assert(isSize(timeSeconds), "a time is a whole number of seconds")
  const time = new Uint8Array(timeBytes)
  new DataView(time.buffer).setBigUint64(0, BigInt(timeSeconds))
  const signature = concat(time, signer.sign(cosignedMessage(text, timeSeconds)))
  return formatSignatureLine({
    name: signer.name,
    keyId: keyId(signer.name, signer.publicKey, "cosignature"),
    signature,
  })
}

/**
 * Returns the text if a given key signed it. Signatures by other keys are ignored, so old notes can
 * gain a new kind of signature; but every signature under a given key's name must hold. The caller
 * decides which signatures it needs.
 */
export function openNote(
  source: string,
  keys: readonly Vkey[],
  verify: Verify = ed25519Verify,
): OpenedNote {
  const note = parseNote(source)
  if (!note) return { ok: false, reason: "malformed" }
  const verified = new Map<Vkey, VerifiedSignature>()
  for (const line of note.signatures) {
    const key = keys.find(({ name, keyId }) => name === line.name && equalBytes(keyId, line.keyId))
    if (!key) continue
    const signature = verifyLine(note.text, line, key, verify)
    if (!signature) return { ok: false, reason: "signature", name: key.name }
    verified.set(key, verified.get(key) ?? signature)
  }
  if (verified.size === 0) return { ok: false, reason: "unsigned" }
  return { ok: true, text: note.text, signatures: [...verified.values()] }
}

/** The parts of a note, not verified. */
export function parseNote(source: string): Note | undefined {
  if (source.length > noteLengthMax) return undefined
  const blank = source.lastIndexOf("\n\n")
  const text = source.slice(0, blank + 1)
  const lines = source.slice(blank + 2).split("\n")
  if (
    blank < 0 ||
    !isNoteText(text) ||
    lines.pop() !== "" ||
    lines.length === 0 ||
    lines.length > noteSignaturesMax
  )
    return undefined
  const signatures: SignatureLine[] = []
  for (const line of lines) {
    const signature = parseSignatureLine(line)
    if (!signature) return undefined
    signatures.push(signature)
  }
  return { text, signatures }
}

/** With its newline. */
export function formatSignatureLine({ name, keyId, signature }: SignatureLine): string {
  assert(
    isKeyName(name) && keyId.length === keyIdBytes && signature.length > 0,
    "a signature has a name and a key id",
  )
  return `\u2014 ${name} ${toBase64(concat(keyId, signature))}\n`
}

/** Without its newline. */
export function parseSignatureLine(line: string): SignatureLine | undefined {
  const [dash, name, signatureText, ...others] = line.split(" ")
  if (dash !== "\u2014" || name === undefined || signatureText === undefined || others.length > 0)
    return undefined
  const bytes = fromBase64(signatureText)
  if (!isKeyName(name) || !bytes || bytes.length <= keyIdBytes) return undefined
  return { name, keyId: bytes.slice(0, keyIdBytes), signature: bytes.slice(keyIdBytes) }
}

const timeBytes = 8

function verifyLine(
  text: string,
  line: SignatureLine,
  key: Vkey,
  verify: Verify,
): VerifiedSignature | undefined {
  switch (key.type) {
    case "log":
      if (line.signature.length !== signatureBytes) return undefined
      return verify(line.signature, utf8(text), key.publicKey) ? { key } : undefined
    case "cosignature": {
      if (line.signature.length !== timeBytes + signatureBytes) return undefined
      const timeSeconds = Number(
        new DataView(line.signature.buffer, line.signature.byteOffset).getBigUint64(0),
      )
      if (!Number.isSafeInteger(timeSeconds)) return undefined
      const message = cosignedMessage(text, timeSeconds)
      return verify(line.signature.subarray(timeBytes), message, key.publicKey)
        ? { key, timeSeconds }
        : undefined
    }
  }
}

function cosignedMessage(text: string, timeSeconds: number): Uint8Array {
  return utf8(`cosignature/v1\ntime ${timeSeconds}\n${text}`)
}

/** Lines, each with its newline, and no other control character. */
function isNoteText(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.endsWith("\n") && !/[\0-\x09\x0b-\x1f]/.test(text) && text.isWellFormed()
}
