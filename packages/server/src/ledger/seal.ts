// Turns the content of an entry into the bytes that are hashed and stored: personal fields become
// RFC 9901 disclosures, everything else becomes the public body in RFC 8785 form. `openEntry` is the
// inverse. Tests compare both, and the result with another canonicalizer.

import { hash } from "node:crypto"
import {
  canonicalize,
  type EntryField,
  type Json,
  type JsonObject,
  type Kind,
} from "@tallystick/proof"
import { hasFurther, provenanceOf, type Content, type Party } from "../store/opened-entry.ts"
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
  const sealing = new Sealing(random)
  const bodyBytes = writeBody(kind, content, idem, personalKeys, sealing)
  const preimage = Buffer.allocUnsafe(bodyAt + bodyBytes)
  scratch.copy(preimage, bodyAt, 0, bodyBytes)
  preimage.latin1Write(bodyTag, 0)
  const salt = sealing.nextSalt()
  salts.copy(preimage, bodyTag.length, salt, salt + saltBytes)
  return {
    kind,
    receipt: content.receipt,
    idem,
    body: preimage.subarray(bodyAt),
    bodySalt: preimage.subarray(bodyTag.length, bodyAt),
    bodyHash: Buffer.from(hash("sha256", preimage, "latin1"), "latin1"),
    disclosures: sealing.disclosures,
  }
}

/** The salts and the disclosures of one entry. */
class Sealing {
  disclosures = ""
  readonly #random: Random
  #used = salts.length

  constructor(random: Random) {
    this.#random = random
  }

  /**
   * The place of a new salt in `salts`. One call to the generator makes four, which is enough for
   * most entries.
   */
  nextSalt(): number {
    if (this.#used === salts.length) {
      this.#random(salts)
      this.#used = 0
    }
    this.#used += saltBytes
    return this.#used - saltBytes
  }

  /** Conceals a claim and returns its digest. */
  conceal(claim: string, value: Json): string {
    return this.#digestOf(canonicalize([this.#saltText(), claim, value]))
  }

  /** The same for a value in canonical JSON. */
  concealJson(claim: string, valueJson: string): string {
    return this.#digestOf(`["${this.#saltText()}",${JSON.stringify(claim)},${valueJson}]`)
  }

  #saltText(): string {
    const salt = this.nextSalt()
    return salts.base64urlSlice(salt, salt + saltBytes)
  }

  #digestOf(text: string): string {
    const disclosure = base64UrlOf(text)
    this.disclosures = this.disclosures === "" ? disclosure : `${this.disclosures}~${disclosure}`
    return hash("sha256", disclosure, "base64url")
  }
}

function base64UrlOf(text: string): string {
  makeRoom(text.length)
  return scratch.base64urlSlice(0, scratch.utf8Write(text, 0))
}

function makeRoom(characters: number): void {
  // No character takes more than three bytes.
  if (characters * 3 > scratch.length) scratch = Buffer.alloc(characters * 3)
}

/** Writes the body into `scratch`, and returns its length. */
function writeBody(
  kind: Kind,
  content: Content,
  idem: string | undefined,
  personalKeys: readonly string[],
  sealing: Sealing,
): number {
  // The target of a consent or an administrative act is not a person, so its name stays readable.
  const namedTarget = kind === "consent" || kind === "admin" || kind === "policy"
  const actor = sealedParty(content.actor, false, sealing)
  const target = sealedParty(content.target, namedTarget, sealing)
  const { metadata, context, keyId } = content
  let digests: Digests
  const isSealedWhole = personalKeys.includes("*")
  if (isSealedWhole) digests = addTo(digests, sealing.conceal("metadata", metadata))
  const open = isSealedWhole ? undefined : openMetadata(metadata, personalKeys, sealing)
  if (context !== undefined || keyId !== undefined)
    digests = addTo(digests, sealing.conceal("context", provenanceOf(context, keyId)))

  // Metadata is written by itself, because its members may have any order.
  const before = JSON.stringify(membersBefore(content, idem, actor, digests, sealing))
  const between = open === undefined ? "" : `,"metadata":${open}`
  const after = JSON.stringify(membersAfter(content, target))
  makeRoom(before.length + between.length + after.length)
  let at = scratch.utf8Write(before, 0) - 1
  at += scratch.utf8Write(between, at)
  const end = at + scratch.utf8Write(after, at)
  // The parts are joined by a comma in place of two braces.
  scratch[at] = comma
  return end
}

const comma = 0x2c

/** The members before `metadata`, in canonical order. Absent ones are undefined. */
function membersBefore(
  content: Content,
  idem: string | undefined,
  actor: SealedParty,
  _sd: Digests,
  { disclosures }: Sealing,
) {
  return {
    _sd,
    _sd_alg: disclosures === "" ? undefined : "sha-256",
    action: content.action,
    actor,
    clockAhead: content.clockAhead,
    id: content.id,
    idem,
    lane: content.lane,
  }
}

/** The members after `metadata`, likewise. */
function membersAfter(content: Content, target: SealedParty) {
  return {
    occurredAt: content.occurredAt,
    policyVersion: content.policyVersion,
    projectId: content.projectId,
    receipt: content.receipt,
    receivedAt: content.receivedAt,
    source: content.source,
    target,
    userVisible: content.userVisible,
    v: 1,
    workspaceId: content.workspaceId,
  }
}

/** Compiles only if each field has its place: in the body, or in the disclosure of the context. */
type Named = keyof ReturnType<typeof membersBefore> | keyof ReturnType<typeof membersAfter>
type Elsewhere = "metadata" | "context" | "keyId"
const _: Exclude<EntryField, Named | Elsewhere> extends never ? true : never = true

/** A party in canonical order. */
interface SealedParty {
  readonly _sd: Digests
  readonly id: string
  readonly name: string | undefined
  readonly type: string
}

/**
 * Seals all members but id and type: e-mail and name as claims of their own, the others together as
 * one claim.
 */
function sealedParty(party: Party, nameStays: boolean, sealing: Sealing): SealedParty {
  const { id, type, email, name } = party
  let _sd: Digests
  if (email !== undefined) _sd = addTo(_sd, sealing.conceal("email", email))
  if (name !== undefined && !nameStays) _sd = addTo(_sd, sealing.conceal("name", name))
  if (hasFurther(party)) _sd = addTo(_sd, sealing.concealJson("other", furtherJson(party)))
  // Only the service names such a target.
  return { _sd, id, name: nameStays ? (name as string | undefined) : undefined, type }
}

/** Digests of sealed members, sorted. Undefined if there are none. */
type Digests = readonly string[] | undefined

function addTo(digests: Digests, digest: string): Digests {
  return digests === undefined ? [digest] : [...digests, digest].sort()
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

/** Metadata with its personal members sealed, as canonical JSON. */
function openMetadata(
  metadata: JsonObject,
  personalKeys: readonly string[],
  sealing: Sealing,
): string {
  if (personalKeys.length === 0) return canonicalize(metadata)
  const personal = new Set(personalKeys)
  const open: Record<string, JsonObject[string]> = {}
  const digests: string[] = []
  for (const [key, value] of Object.entries(metadata)) {
    if (personal.has(key)) digests.push(sealing.conceal(key, value))
    else open[key] = value
  }
  return canonicalize(digests.length === 0 ? open : { _sd: digests.toSorted(), ...open })
}
