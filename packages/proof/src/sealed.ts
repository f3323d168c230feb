import { assert } from "./assert.ts"
import { canonicalize, parseCanonical } from "./canonical.ts"
import { fromBase64Url, toBase64Url, utf8 } from "./encoding.ts"
import { isJsonObject, type Json, type JsonObject } from "./json.ts"
import { preimageOfText } from "./preimage.ts"
import { sha256, type Sha256 } from "./sha256.ts"

/**
 * Sealed fields, by RFC 9901 (SD-JWT). Personal data is not in the body, but in separate
 * disclosures,
 *
 *     disclosure = base64url( JCS( [ base64url(salt16), name, value ] ) )
 *     digest     = base64url( SHA-256( ASCII( disclosure ) ) )
 *
 * and the object that it was taken from lists the digest in its `_sd`. So a disclosure can be
 * withheld or destroyed, and the body's hash stays valid. Nobody can guess destroyed values,
 * because their salt was destroyed too. `_sd_alg` at the top of the body names the hash.
 *
 * Of the RFC, the ledger uses members of objects that are reached through objects. Digests within
 * arrays or disclosed values are refused.
 */
export function disclosure(salt: Uint8Array, name: string, value: Json): string {
  assert(
    salt.length === disclosureSaltBytes && isClaimName(name),
    "a disclosure has a salt of 16 bytes, and a name that is not reserved",
  )
  return toBase64Url(utf8(canonicalize([toBase64Url(salt), name, value])))
}

export function digest(disclosure: string, hash: Sha256 = sha256): string {
  return toBase64Url(hash(preimageOfText(disclosure)))
}

export type Disclosed = { readonly salt: Uint8Array; readonly name: string; readonly value: Json }

/** Undefined unless `disclosure` writes the same text. */
export function parseDisclosure(text: string): Disclosed | undefined {
  const bytes = fromBase64Url(text)
  const parts = bytes && parseCanonical(bytes)
  if (!Array.isArray(parts) || parts.length !== 3) return undefined
  // Array.isArray makes any[] of it; its items are Json.
  const [saltText, name, value] = parts as [Json, Json, Json]
  if (typeof saltText !== "string" || typeof name !== "string" || !isClaimName(name))
    return undefined
  const salt = fromBase64Url(saltText)
  return salt?.length === disclosureSaltBytes && !hasReservedName(value)
    ? { salt, name, value }
    : undefined
}

const disclosureSaltBytes = 16

export type OpenedBody =
  | {
      readonly ok: true
      readonly value: JsonObject
      readonly withheld: number
      /** The digests without a disclosure. */
      readonly missing: readonly string[]
    }
  | { readonly ok: false; readonly reason: SealFailure }

/**
 * `malformed`: a disclosure, an `_sd`, an `_sd_alg` or a claim's value has the wrong form.
 * `unmatched`: a disclosure has no digest in the body: it belongs to another entry, or was changed.
 * `repeated`: a disclosure or a digest occurs twice. `name`: a claim would replace an existing
 * member.
 */
export type SealFailure = "malformed" | "unmatched" | "repeated" | "name"

/** What disclosures disclose, by their digests, in their order. */
export type Claims = ReadonlyMap<string, Disclosed>

/** `digestOf` may be the platform's implementation of `digest`. */
export function claimsOf(
  disclosures: readonly string[],
  digestOf: (text: string) => string = digest,
): Claims | SealFailure {
  const claims = new Map<string, Disclosed>()
  for (const text of disclosures) {
    const claim = parseDisclosure(text)
    if (!claim) return "malformed"
    const key = digestOf(text)
    if (claims.has(key)) return "repeated"
    claims.set(key, claim)
  }
  return claims
}

/** `openClaims` for the claims of these disclosures. */
export function openBody(
  body: JsonObject,
  disclosures: readonly string[],
  hash: Sha256 = sha256,
  digestOf = (text: string): string => digest(text, hash),
): OpenedBody {
  const claims = claimsOf(disclosures, digestOf)
  return typeof claims === "string" ? { ok: false, reason: claims } : openClaims(body, claims)
}

/**
 * The body with each disclosed claim as a member of the object that lists its digest; `withheld`
 * counts digests without a disclosure. The arguments are not changed, but the result may share
 * parts of them. If one disclosure does not match exactly once, the whole fails.
 */
export function openClaims(body: JsonObject, claims: Claims): OpenedBody {
  const algorithm = body["_sd_alg"]
  if (algorithm !== undefined && algorithm !== "sha-256") return { ok: false, reason: "malformed" }
  const opening: Opening = { claims, seen: new Set(), matched: 0 }
  const value = openObject(body, opening, algorithm === undefined ? undefined : "_sd_alg")
  if (opening.failure) return { ok: false, reason: opening.failure }
  if (opening.matched < claims.size) return { ok: false, reason: "unmatched" }
  if (!hasClaimForms(value)) return { ok: false, reason: "malformed" }
  const withheld = opening.seen.size - opening.matched
  const missing = withheld === 0 ? [] : [...opening.seen].filter((one) => !claims.has(one))
  return { ok: true, value, withheld, missing }
}

type Opening = {
  readonly claims: Claims
  readonly seen: Set<string>
  matched: number
  failure?: SealFailure
}

/** Returns the value itself if nothing in it is sealed, the usual case. */
function openValue(value: Json, opening: Opening): Json {
  if (typeof value !== "object" || value === null) return value
  if (isJsonObject(value)) return openObject(value, opening)
  if (hasReservedName(value)) opening.failure ??= "malformed"
  return value
}

/** The member `without` is left out. A new object is made only where something differs. */
function openObject(object: JsonObject, opening: Opening, without?: string): JsonObject {
  const isSealed = Object.hasOwn(object, "_sd")
  let members: { [name: string]: Json } | undefined =
    isSealed || without !== undefined ? {} : undefined
  for (const name of Object.keys(object)) {
    if (name === "_sd" || name === without) continue
    if (reservedNames.has(name)) return fail(opening, "malformed", object)
    const member = object[name] as Json
    const opened = openValue(member, opening)
    if (members !== undefined) members[name] = opened
    else if (opened !== member) members = { ...object, [name]: opened }
  }
  if (members === undefined || !isSealed) return members ?? object
  return placeClaims(members, object["_sd"] ?? null, opening)
}

function placeClaims(
  members: { [name: string]: Json },
  digests: Json,
  opening: Opening,
): JsonObject {
  if (!Array.isArray(digests) || digests.length === 0) return fail(opening, "malformed", members)
  for (const digest of digests as Json[]) {
    // The digest of a claim was computed here, so it has the right form.
    const claim = typeof digest === "string" ? opening.claims.get(digest) : undefined
    if (typeof digest !== "string" || (!claim && fromBase64Url(digest)?.length !== 32))
      return fail(opening, "malformed", members)
    if (opening.seen.has(digest)) return fail(opening, "repeated", members)
    opening.seen.add(digest)
    if (!claim) continue
    if (Object.hasOwn(members, claim.name)) return fail(opening, "name", members)
    members[claim.name] = claim.value
    opening.matched++
  }
  return members
}

/**
 * Two claims hold several members each: `other` those of a party, `context` those of the request.
 */
function hasClaimForms({ actor, target, context }: JsonObject): boolean {
  const others = [actor, target].map((party) => (isJsonObject(party) ? party["other"] : undefined))
  if (!others.every((other) => other === undefined || isJsonObject(other))) return false
  return (
    context === undefined ||
    (isJsonObject(context) && Object.values(context).every((value) => typeof value === "string"))
  )
}

/** Reports the first failure only. The returned value is then ignored. */
function fail(opening: Opening, reason: SealFailure, value: JsonObject): JsonObject {
  opening.failure ??= reason
  return value
}

// `__proto__` is our own rule: copying an object can lose it or change the prototype, so the ledger
// accepts it nowhere.
const reservedNames: ReadonlySet<string> = new Set(["_sd", "_sd_alg", "...", "__proto__"])

function isClaimName(name: string): boolean {
  return !reservedNames.has(name)
}

function hasReservedName(value: Json): boolean {
  if (Array.isArray(value)) return value.some(hasReservedName)
  if (!isJsonObject(value)) return false
  return Object.keys(value).some(
    (name) => reservedNames.has(name) || hasReservedName(value[name] as Json),
  ) // a name of the value's own
}
