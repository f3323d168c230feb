// The hash of an idempotency key in an entry's body, and the comparison of two requests with one
// key. With the hash, an entry can be found by its key, and the index of keys can be checked. A
// reader of the body cannot guess the key.

import { hash } from "node:crypto"
import {
  equalJson,
  fieldsWith,
  isJsonObject,
  type Json,
  type JsonObject,
  type Kind,
} from "@tallystick/proof"
import { digestsIn, parsedBody, type Content } from "../store/opened-entry.ts"

/**
 * The key spaces of a workspace. Batches share that of single events. Only the service uses
 * `integrity`.
 */
export type Route = "/v1/events" | "/v1/consents" | "/v1/consents/withdrawals" | "integrity"

const tag = "ALK1"
const keptBytes = 16
/** Reused by each call. */
const digest = Buffer.alloc(32)

/** The first 16 bytes, in base64url, of SHA-256("ALK1" || secret || route || 0x0A || key). */
export function idemOf(secret: Uint8Array, route: Route, key: string): string {
  const preimage = Buffer.allocUnsafe(tag.length + secret.length + route.length + 1 + key.length)
  let at = preimage.latin1Write(tag, 0)
  preimage.set(secret, at)
  at += secret.length
  at += preimage.latin1Write(route, at)
  preimage[at] = 0x0a
  preimage.latin1Write(key, at + 1)
  digest.latin1Write(hash("sha256", preimage, "latin1"), 0)
  return digest.base64urlSlice(0, keptBytes)
}

/** Whether the recorded request and the new one are the same, whatever the order of members. */
export type SameRequest = (kind: Kind, recorded: Content, asked: Content) => boolean

const writerFields = fieldsWith("from", "writer")

/**
 * Two requests are the same if the fields from their writers are equal. The service sets the time
 * of a consent.
 */
export const sameRequest: SameRequest = (kind, recorded, asked) =>
  writerFields.every(
    (name) =>
      (kind === "consent" && name === "occurredAt") || equalJson(recorded[name], asked[name]),
  )

/**
 * The new request, reduced to the parts that the recorded one still has. The recorded one's sealed
 * fields with these digests were destroyed, so they cannot be compared.
 */
export function withoutErased(
  asked: Content,
  recorded: Content,
  body: Uint8Array,
  missing: readonly string[],
): Content {
  const read = parsedBody(body)
  const parts = isJsonObject(read) ? read : {}
  const lacks = (part: Json | undefined): boolean => {
    const digests = digestsIn(part)
    return missing.some((one) => digests.includes(one))
  }
  const { actor, target, metadata } = asked
  // Metadata that was sealed as a whole is not in the body. Its digest is at the top level.
  const isSealedWhole = parts["metadata"] === undefined
  const lacksMetadata = lacks(parts["metadata"]) || (isSealedWhole && lacks(parts))
  return {
    ...asked,
    actor: lacks(parts["actor"]) ? left(actor, recorded.actor) : actor,
    target: lacks(parts["target"]) ? left(target, recorded.target) : target,
    metadata: lacksMetadata ? left(metadata, recorded.metadata) : metadata,
  }
}

/** The members that the recorded part still has. */
function left<T extends JsonObject>(asked: T, recorded: JsonObject): T {
  // A party keeps its id and type, which are never sealed.
  return Object.fromEntries(
    Object.entries(asked).filter(([name]) => Object.hasOwn(recorded, name)),
  ) as T
}
