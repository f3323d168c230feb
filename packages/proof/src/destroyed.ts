import { isJsonObject, type Json, type JsonObject } from "./json.ts"
import type { Kind } from "./record.ts"
import type { SequenceRange } from "./ranges.ts"
import { isSize } from "./tree.ts"

/**
 * Before the service destroys content, it records that, in entries of kind `retention` (a body has
 * expired) and `erasure` (a person's data). Their `metadata` lists the content of earlier entries,
 * by sequence:
 *
 *     bodies   [[first, last], …]                  whole bodies, and everything sealed in them
 *     fields   [{ "sequence", "digests": […] }, …]  sealed fields alone, by their digests; in an erasure
 *
 * both ascending and without overlap. Missing content that no such entry lists is unexplained.
 */
export type Destroyed = {
  readonly why: DestroyedWhy
  readonly bodies: readonly SequenceRange[]
  readonly fields: readonly DestroyedFields[]
}

export type DestroyedWhy = "expired" | "erased"
export type DestroyedFields = { readonly sequence: number; readonly digests: readonly string[] }

/**
 * The content that an entry destroys. Undefined if the entry is of another kind, or lists nothing
 * valid.
 */
export function readDestroyed(
  kind: Kind,
  sequence: number,
  { metadata }: JsonObject,
): Destroyed | undefined {
  const why = kind === "retention" ? "expired" : kind === "erasure" ? "erased" : undefined
  if (why === undefined || !isJsonObject(metadata)) return undefined
  const bodies = rangesIn(metadata["bodies"])
  const fields = why === "erased" ? fieldsIn(metadata["fields"]) : []
  if (bodies.length + fields.length === 0) return undefined
  const last = Math.max(bodies.at(-1)?.last ?? 0, fields.at(-1)?.sequence ?? 0)
  return last < sequence ? { why, bodies, fields } : undefined
}

/** The `metadata` that records it. */
export function formatDestroyed({ bodies, fields }: Omit<Destroyed, "why">): JsonObject {
  return {
    ...(bodies.length > 0 && { bodies: bodies.map(({ first, last }) => [first, last]) }),
    ...(fields.length > 0 && {
      fields: fields.map(({ sequence, digests }) => ({ sequence, digests: [...digests] })),
    }),
  }
}

/** Empty if any part is malformed. */
function rangesIn(value: Json | undefined): readonly SequenceRange[] {
  if (!Array.isArray(value)) return []
  const ranges: SequenceRange[] = []
  // Array.isArray makes any[] of it; its items are Json.
  for (const range of value as readonly Json[]) {
    const [first, last] = Array.isArray(range) && range.length === 2 ? (range as Json[]) : []
    if (!isSequence(first) || !isSequence(last)) return []
    if (first > last || first <= (ranges.at(-1)?.last ?? 0)) return []
    ranges.push({ first, last })
  }
  return ranges
}

/** Empty if any part is malformed. */
function fieldsIn(value: Json | undefined): readonly DestroyedFields[] {
  if (!Array.isArray(value)) return []
  const fields: DestroyedFields[] = []
  // Array.isArray makes any[] of it; its items are Json.
  for (const one of value as readonly Json[]) {
    if (!isJsonObject(one)) return []
    const { sequence, digests } = one
    if (!isSequence(sequence) || sequence <= (fields.at(-1)?.sequence ?? 0)) return []
    if (!Array.isArray(digests)) return []
    const texts = (digests as readonly Json[]).filter((digest) => typeof digest === "string")
    if (texts.length !== digests.length || texts.length === 0) return []
    fields.push({ sequence, digests: texts })
  }
  return fields
}

function isSequence(value: Json | undefined): value is number {
  return isSize(value) && value > 0
}
