// The format of every secret that the service hands out: ts<kind>_<id>_<secret><check>. The id
// finds the document, and the whole text is compared. The check lets scanners for leaked secrets
// recognise one. The database keeps a keyed hash only; the key (the pepper) is not in the database.

import { hash, timingSafeEqual } from "node:crypto"
import { crc32 } from "node:zlib"
import { assert, canonicalize } from "@tallystick/proof"
import { generationOf, numbered } from "../secrets/keyring.ts"
import type { Random } from "../ledger/random.ts"
import type { SessionDocument, SetupDocument } from "../store/documents.ts"

const kinds = ["k", "r", "p", "a", "e", "s", "x"] as const

/** k: API key; r, p, a, e: scoped tokens; s: session; x: set-up token. */
export type CredentialKind = (typeof kinds)[number]

export interface Credential {
  readonly kind: CredentialKind
  readonly id: string
  readonly secret: string
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const idCharacters = 13
const secretCharacters = 43
const checkCharacters = 6
const idStart = 4
/** Includes `ts`, the kind and two underscores. */
const textCharacters = 2 + 1 + 1 + idCharacters + 1 + secretCharacters + checkCharacters

export function makeCredential(kind: CredentialKind, random: Random): Credential {
  return {
    kind,
    id: randomText(idCharacters, random),
    secret: randomText(secretCharacters, random),
  }
}

export function formatCredential({ kind, id, secret }: Credential): string {
  const text = `ts${kind}_${id}_${secret}`
  return text + checkOf(text)
}

/** A credential that is about to be handed out. */
export interface NewCredential {
  readonly id: string
  /** Shown once, and stored nowhere. */
  readonly token: string
  readonly mac: string
  /** What the ledger records about `mac`. */
  readonly commitment: string
}

/** `bound` is what the credential is bound to, if its kind is bound to something. */
export function issueCredential(
  kind: CredentialKind,
  random: Random,
  macOf: MacOf,
  bound?: string,
): NewCredential {
  const credential = makeCredential(kind, random)
  const token = formatCredential(credential)
  const mac = macOf(token, bound)
  return { id: credential.id, token, mac, commitment: commitmentTo(mac) }
}

/**
 * Reads kind and id. Does not verify the check: the MAC covers the whole text, so a forged
 * credential has a wrong MAC anyway.
 */
export function parseCredential(text: string): Pick<Credential, "kind" | "id"> | undefined {
  const kind = kinds.find((known) => known === text[2])
  const idEnd = idStart + idCharacters
  const formed =
    text.length === textCharacters &&
    text.startsWith("ts") &&
    text[idStart - 1] === "_" &&
    text[idEnd] === "_"
  return formed && kind !== undefined ? { kind, id: text.slice(idStart, idEnd) } : undefined
}

/**
 * The stored form of a credential: HMAC-SHA-256 under a pepper, over its text and what it is bound
 * to, with the pepper's generation. If somebody edits that document in the database, the credential
 * becomes invalid.
 */
export type MacOf = (text: string, bound?: string) => string

export interface Macs {
  readonly of: MacOf
  /**
   * Whether a credential matches its stored form. Takes the same time, and is false, if there is
   * none.
   */
  fits(text: string, kept: string | undefined, bound?: string): boolean
}

/**
 * Peppers of all generations, oldest first: a credential is checked under the pepper that it was
 * made under.
 */
export function createMacs(peppers: readonly Uint8Array[]): Macs {
  const macs = peppers.map((pepper, at): MacOf => {
    const macOf = createMac(pepper)
    return (text, bound) => numbered(at + 1, macOf(text, bound))
  })
  const newest = macs.at(-1)
  assert(newest !== undefined, "every secret has a pepper")
  return {
    of: newest,
    fits(text, kept = "", bound) {
      const macOf = macs[generationOf(kept) - 1] ?? newest
      return sameText(macOf(text, bound), kept)
    },
  }
}

/**
 * HMAC by its definition, H(key ^ opad, H(key ^ ipad, text)), from two one-shot hashes: every
 * request checks a credential, and the platform's HMAC object costs three times as much. A test
 * compares the two.
 */
export function createMac(pepper: Uint8Array): MacOf {
  const inner = padded(pepper, 0x36)
  const outer = padded(pepper, 0x5c)
  return (text, bound) => {
    assert(text.length === textCharacters, "all credentials have one length")
    inner.latin1Write(text, blockBytes)
    const all = bound === undefined ? inner : Buffer.concat([inner, Buffer.from(bound)])
    outer.latin1Write(hash("sha256", all, "latin1"), blockBytes)
    return hash("sha256", outer.subarray(0, blockBytes + digestBytes), "hex")
  }
}

const blockBytes = 64
const digestBytes = 32

/** The key's block, with room after it for a credential. */
function padded(key: Uint8Array, pad: number): Buffer {
  const block = Buffer.alloc(blockBytes + textCharacters)
  block.set(key)
  for (let at = 0; at < blockBytes; at++) block[at] = (block[at] ?? 0) ^ pad
  return block
}

/** What a session or a set-up token is bound to: its workspace, and every member of its document. */
export function boundOf(workspace: string, { mac: _, ...rest }: Bound): string {
  return canonicalize({ workspace, ...rest })
}

type Bound = (Omit<SessionDocument, "mac"> | Omit<SetupDocument, "mac">) & { readonly mac?: string }

/**
 * A hash of the stored form of a credential or a password. The ledger records it, so fsck notices
 * if somebody replaces the stored form. It does not help to guess: the stored form is a MAC of a
 * random secret, or contains a random salt that no entry has.
 */
export function commitmentTo(kept: string): string {
  return hash("sha256", `tallystick commitment\n${kept}`)
}

/** Compares in a time that does not depend on where two texts of one length differ. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** All 62 characters are equally likely: bytes that would favour some are discarded. */
export function randomText(characters: number, random: Random): string {
  const bytes = new Uint8Array(characters * 2)
  let text = ""
  while (text.length < characters) {
    random(bytes)
    for (const byte of bytes)
      if (byte < alphabet.length * 4 && text.length < characters)
        text += alphabet.charAt(byte % alphabet.length)
  }
  return text
}

function checkOf(text: string): string {
  let check = ""
  let rest = crc32(text)
  while (check.length < checkCharacters) {
    check = alphabet.charAt(rest % alphabet.length) + check
    rest = Math.floor(rest / alphabet.length)
  }
  return check
}
