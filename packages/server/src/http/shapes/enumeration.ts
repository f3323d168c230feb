import { Type } from "./type.ts"
import type {
  Kind,
  Integrity,
  Open,
  Role,
  Scope,
  Source,
  StorageClass,
} from "@tallystick/client/wire"
import type { Shape } from "./check.ts"

// Enumerations. In requests they are closed; in answers they are open, so that a later version may
// add a value.

export { lanes } from "../../store/documents.ts"
export const sources = [
  "api",
  "automation",
  "dashboard",
  "system",
] as const satisfies readonly Source[]
export const storageClasses = ["hot", "archive"] as const satisfies readonly StorageClass[]
export const kinds = [
  "event",
  "consent",
  "policy",
  "erasure",
  "key",
  "anchor",
  "retention",
  "admin",
] as const satisfies readonly Kind[]
export const integrities = [
  "verified",
  "pending",
  "erased",
  "expired",
  "broken",
] as const satisfies readonly Integrity[]
export const scopes = ["write", "read", "admin"] as const satisfies readonly Scope[]
export const roles = ["viewer", "admin"] as const satisfies readonly Role[]
export const visibilities = ["public", "private"] as const

/** For an answer: these values today, and perhaps others later. */
export function open<Known extends string>(known: readonly Known[]): Shape<Open<Known>> {
  return Type.Unsafe<Open<Known>>(
    Type.String({
      docs: {
        description: `One of ${known.join(", ")}. A later version may add others.`,
        examples: [...known],
      },
    }),
  )
}
