// Turns the content of an entry into the bytes that are hashed and stored: personal fields become
// RFC 9901 disclosures, everything else becomes the public body in RFC 8785 form. Written by hand,
// because every event passes here. `openEntry` is the inverse. Tests compare both, and the result
// with another canonicalizer.

import { hash } from "node:crypto"
import {
  canonicalize,
  entryFields,
  fieldsWith,
  type FieldWith,
  type JsonObject,
  type Kind,
} from "@tallystick/proof"
import { hasFurther, provenanceJson, type Content, type Party } from "../store/opened-entry.ts"
import type { Random } from "./random.ts"

/** An entry that waits for its place in the chain. */
export interface SealedEntry {
  readonly kind: Kind
  readonly receipt: string
  readonly idem: string | undefined
  readonly body: Uint8Array
  readonly bodySalt: Uint8Array
  readonly bodyHash: Uint8Array
  readonly disclosures: string
}

export interface SealOptions {
  /** Metadata members that are personal; ["*"] seals the whole of metadata. */
  readonly personalKeys: readonly string[]
  readonly random: Random
}

const saltBytes = 16
const bodyTag = "ALB1"
/** The hash covers "ALB1" || salt || body. */
const bodyAt = bodyTag.length + saltBytes

/** Buffers for unused salts and for the text of disclosures. Nothing in them outlives a call. */
const salts = Buffer.alloc(4 * saltBytes)
let scratch = Buffer.alloc(4096)

export function seal(
  kind: Kind,
  content: Content,
  idem: string | undefined,
  { personalKeys, random }: SealOptions,
): SealedEntry {
  let disclosures = ""
  let used = salts.length
  // Each salt is used once. One call to the generator makes four, which is enough for most entries.
  const nextSalt = (): number => {
    if (used === salts.length) {
      random(salts)
      used = 0
    }
    used += saltBytes
    return used - saltBytes
  }
  const conceal = (claim: string, valueJson: string): string => {
    const salt = nextSalt()
    const disclosure = base64UrlOf(
      `["${salts.base64urlSlice(salt, salt + saltBytes)}",${JSON.stringify(claim)},${valueJson}]`,
    )
    disclosures = disclosures === "" ? disclosure : `${disclosures}~${disclosure}`
    return hash("sha256", disclosure, "base64url")
  }

  const body = bodyJson(kind, content, idem, personalKeys, conceal, () => disclosures !== "")
  const preimage = Buffer.allocUnsafe(bodyAt + Buffer.byteLength(body))
  preimage.latin1Write(bodyTag, 0)
  const salt = nextSalt()
  salts.copy(preimage, bodyTag.length, salt, salt + saltBytes)
  preimage.utf8Write(body, bodyAt)
  return {
    kind,
    receipt: content.receipt,
    idem,
    body: preimage.subarray(bodyAt),
    bodySalt: preimage.subarray(bodyTag.length, bodyAt),
    bodyHash: Buffer.from(hash("sha256", preimage, "latin1"), "latin1"),
    disclosures,
  }
}

function base64UrlOf(text: string): string {
  // No character takes more than three bytes.
  if (text.length * 3 > scratch.length) scratch = Buffer.alloc(text.length * 3)
  return scratch.base64urlSlice(0, scratch.utf8Write(text, 0))
}

/** Conceals a claim and returns its digest. */
type Conceal = (claim: string, valueJson: string) => string

/** Members of a body as JSON. */
type Made = Readonly<Record<FieldWith<"form", "object"> | "idem" | "v", string | undefined>>

/** Fields that are sealed as a whole, as JSON. */
type Hidden = Readonly<Record<FieldWith<"form", "sealed">, string | undefined>>
const sealedFields = fieldsWith("form", "sealed")

interface Member<Form, Name> {
  readonly form: Form
  readonly name: Name
  readonly before: string
  readonly after: string
}
type Plain = "word" | "text" | "value"

/** All members that a body may have in clear text, in canonical order. */
const members: readonly (Member<Plain, FieldWith<"form", Plain>> | Member<"made", keyof Made>)[] = [
  ...fieldsWith("form", "word", "text", "value").map((name) =>
    memberOf(entryFields[name].form, name),
  ),
  ...([...fieldsWith("form", "object"), "idem", "v"] as const).map((name) =>
    memberOf("made", name),
  ),
].sort((one, other) => (one.name < other.name ? -1 : 1))

function memberOf<Form extends string, Name extends string>(
  form: Form,
  name: Name,
): Member<Form, Name> {
  const quote = form === "word" ? '"' : ""
  // Every body has the last member, so a comma always follows the others.
  return {
    form,
    name,
    before: `"${name}":${quote}`,
    after: name === "workspaceId" ? `${quote}}` : `${quote},`,
  }
}

function bodyJson(
  kind: Kind,
  content: Content,
  idem: string | undefined,
  personalKeys: readonly string[],
  conceal: Conceal,
  anySealed: () => boolean,
): string {
  // The target of a consent or an administrative act is not a person, so its name stays readable.
  const namedTarget = kind === "consent" || kind === "admin" || kind === "policy"
  const digests: string[] = []
  const made: Made = {
    actor: sealedParty(content.actor, false, conceal),
    target: sealedParty(content.target, namedTarget, conceal),
    metadata: sealedMetadata(content.metadata, personalKeys, conceal, digests),
    idem: idem === undefined ? undefined : `"${idem}"`,
    v: "1",
  }
  const { context, keyId } = content
  const hidden: Hidden = {
    context:
      context === undefined && keyId === undefined ? undefined : provenanceJson(context, keyId),
  }
  for (const name of sealedFields) {
    const json = hidden[name]
    if (json !== undefined) digests.push(conceal(name, json))
  }
  let body = `{${sdMember(digests)}${anySealed() ? '"_sd_alg":"sha-256",' : ""}`
  for (const { form, name, before, after } of members) {
    const value = form === "made" ? made[name] : content[name]
    if (value !== undefined)
      body += before + (form === "text" ? JSON.stringify(value) : value) + after
  }
  return body
}

/**
 * Seals all members but id and type: e-mail and name as claims of their own, the others together as
 * one claim.
 */
function sealedParty(party: Party, nameStays: boolean, conceal: Conceal): string {
  const { id, type, email, name } = party
  const digests: string[] = []
  if (email !== undefined) digests.push(conceal("email", canonicalize(email)))
  if (name !== undefined && !nameStays) digests.push(conceal("name", canonicalize(name)))
  if (hasFurther(party)) digests.push(conceal("other", furtherJson(party)))
  const named = name !== undefined && nameStays ? `"name":${canonicalize(name)},` : ""
  return `{${sdMember(digests)}"id":${JSON.stringify(id)},${named}"type":${JSON.stringify(type)}}`
}

/**
 * Canonical JSON of the other members, made without a temporary object, because a party may have
 * 30,000.
 */
function furtherJson(party: Party): string {
  const names = Object.keys(party).filter(
    (name) => name !== "id" && name !== "type" && name !== "email" && name !== "name",
  )
  const members = names
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalize(party[name] ?? null)}`)
  return `{${members.join(",")}}`
}

/** Undefined if metadata is sealed as a whole. Its digest is then at the top level. */
function sealedMetadata(
  metadata: JsonObject,
  personalKeys: readonly string[],
  conceal: Conceal,
  topDigests: string[],
): string | undefined {
  if (personalKeys.length === 0) return canonicalize(metadata)
  if (personalKeys.includes("*")) {
    topDigests.push(conceal("metadata", canonicalize(metadata)))
    return undefined
  }
  const personal = new Set(personalKeys)
  const open: Record<string, JsonObject[string]> = {}
  const digests: string[] = []
  for (const [key, value] of Object.entries(metadata)) {
    if (personal.has(key)) digests.push(conceal(key, canonicalize(value)))
    else open[key] = value
  }
  return canonicalize(digests.length === 0 ? open : { _sd: digests.toSorted(), ...open })
}

function sdMember(digests: readonly string[]): string {
  if (digests.length === 0) return ""
  return `"_sd":["${digests.length === 1 ? digests[0] : digests.toSorted().join('","')}"],`
}
