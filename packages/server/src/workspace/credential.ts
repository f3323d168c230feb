// One grammar for every secret that we hand out: ts<kind>_<id>_<secret><check>. The id is looked up, the secret is compared, the check
// tells a typing error from an attack. Only a keyed hash of the secret is kept, under a pepper that is not in the database.

import { createHmac, timingSafeEqual } from "node:crypto"
import { crc32 } from "node:zlib"
import type { Random } from "../ledger/random.ts"

/** k API key; the others are the scoped tokens, sessions and set-up tokens. */
export type CredentialKind = "k" | "r" | "p" | "a" | "e" | "s" | "x"

export interface Credential {
  readonly kind: CredentialKind
  readonly id: string
  readonly secret: string
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const idCharacters = 13
const secretCharacters = 43
const checkCharacters = 6
const grammar = new RegExp(`^ts([krpaesx])_([0-9A-Za-z]{${idCharacters}})_([0-9A-Za-z]{${secretCharacters}})([0-9A-Za-z]{${checkCharacters}})$`)

export function makeCredential(kind: CredentialKind, random: Random): Credential {
  return { kind, id: randomText(idCharacters, random), secret: randomText(secretCharacters, random) }
}

/** As it is shown, once. */
export function formatCredential({ kind, id, secret }: Credential): string {
  const text = `ts${kind}_${id}_${secret}`
  return text + checkOf(text)
}

export function parseCredential(text: string): Credential | undefined {
  const [, kind, id, secret, check] = grammar.exec(text) ?? []
  if (id === undefined || secret === undefined || check !== checkOf(text.slice(0, -checkCharacters))) return undefined
  // The grammar allows these letters only.
  return { kind: kind as CredentialKind, id, secret }
}

/** What is kept of a secret. */
export function macOf(pepper: Uint8Array, { kind, id, secret }: Credential): string {
  return createHmac("sha256", pepper).update(`${kind}_${id}_${secret}`).digest("hex")
}

export function isSecretOf(pepper: Uint8Array, credential: Credential, mac: string): boolean {
  return sameText(macOf(pepper, credential), mac)
}

/** Compares in a time that does not depend on where two texts of one length differ. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Characters that are each one of 62 with the same chance: bytes that would favour some are thrown away. */
export function randomText(characters: number, random: Random): string {
  const bytes = new Uint8Array(characters * 2)
  let text = ""
  while (text.length < characters) {
    random(bytes)
    for (const byte of bytes) if (byte < alphabet.length * 4 && text.length < characters) text += alphabet.charAt(byte % alphabet.length)
  }
  return text
}

function checkOf(text: string): string {
  let check = ""
  for (let rest = crc32(text); check.length < checkCharacters; rest = Math.floor(rest / alphabet.length)) {
    check = alphabet.charAt(rest % alphabet.length) + check
  }
  return check
}
