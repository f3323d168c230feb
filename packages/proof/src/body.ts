import { assert } from "./assert.ts"
import { parseCanonical } from "./canonical.ts"
import { equalBytes, utf8 } from "./encoding.ts"
import { isJsonObject, type JsonObject } from "./json.ts"
import { preimage } from "./preimage.ts"
import type { RecordFields } from "./record.ts"
import { sha256, type Sha256 } from "./sha256.ts"

/**
 * The body of an entry is its content: one JSON object in canonical form, made once and stored as
 * bytes. Records and tiles contain only
 *
 *     bodyHash = SHA-256( "ALB1" || salt[16] || body )
 *
 * so a body can be withheld, or destroyed after its retention, and every earlier proof stays valid.
 * The salt is random: without it, somebody with only the public records could guess likely bodies
 * and compare their hashes.
 */
export function bodyHash(salt: Uint8Array, body: Uint8Array, hash: Sha256 = sha256): Uint8Array {
  assert(salt.length === bodySaltBytes, "a body's salt has 16 bytes")
  return hash(preimage(tag, salt, body))
}

/** Whether a record commits to this body. */
export function commitsTo(
  record: RecordFields,
  salt: Uint8Array,
  body: Uint8Array,
  hash: Sha256 = sha256,
): boolean {
  return salt.length === bodySaltBytes && equalBytes(bodyHash(salt, body, hash), record.bodyHash)
}

export type BodyFault = "canonical" | "version" | "workspace"

/**
 * The content of a body without its sealed fields, or the reason why it is no body of this
 * workspace.
 */
export function parseBody(
  source: string | Uint8Array,
  workspaceId?: string,
): JsonObject | BodyFault {
  const body = parseCanonical(source)
  if (!isJsonObject(body)) return "canonical"
  // In another version the same names may have another meaning.
  if (body["v"] !== 1) return "version"
  return workspaceId === undefined || body["workspaceId"] === workspaceId ? body : "workspace"
}

export const bodyTag = "ALB1"
export const bodySaltBytes = 16

const tag = utf8(bodyTag)
