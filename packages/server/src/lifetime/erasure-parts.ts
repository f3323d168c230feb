// What an erasure destroys, as its entries say it: each entry names sequences and digests, never
// values. An entry has a bounded size, so an erasure has as many of these as it needs.

import {
  formatDestroyed,
  type Destroyed,
  type DestroyedFields,
  type JsonObject,
  type SequenceRange,
  addRange,
} from "@tallystick/proof"
import type { NamingDocument, Personal } from "./subject-entries.ts"

export interface ErasurePart {
  readonly destroyed: Destroyed
  readonly naming: readonly NamingDocument[]
  /** Everything up to this sequence is in this part or an earlier one. */
  readonly last: number
  readonly entries: number
  readonly fields: number
}

/** Bytes of a part as JSON: a quarter of the largest event. */
const partBytesMax = 64 * 1024
/** Bytes of a body in a part: at most a range of two sequences. */
const bodyBytes = 40
const digestBytes = 46
const fieldsBytes = 40

/** Divides the findings into parts, in order. */
export async function* partsOf(
  found: AsyncIterable<readonly Personal[]> | Iterable<readonly Personal[]>,
): AsyncGenerator<ErasurePart> {
  let part: Personal[] = []
  let bytes = 0
  for await (const batch of found)
    for (const one of batch) {
      part.push(one)
      bytes += one.isBody ? bodyBytes : fieldsBytes + one.digests.length * digestBytes
      if (bytes < partBytesMax) continue
      yield partWith(part)
      part = []
      bytes = 0
    }
  if (part.length > 0) yield partWith(part)
}

export function partWith(found: readonly Personal[]): ErasurePart {
  const bodies: SequenceRange[] = []
  const fields: DestroyedFields[] = []
  for (const { sequence, isBody, digests } of found) {
    if (isBody) addRange(bodies, { first: sequence, last: sequence })
    else fields.push({ sequence, digests })
  }
  return {
    destroyed: { why: "erased", bodies, fields },
    naming: found.flatMap(({ naming }) => naming ?? []),
    last: found.at(-1)?.sequence ?? 0,
    entries: found.length,
    fields: found.reduce((sum, { digests }) => sum + digests.length, 0),
  }
}

/** Each only once: a token has an entry for its creation and one for its end. */
export function idsOf(
  naming: readonly NamingDocument[],
  kind: NamingDocument["kind"],
): readonly string[] {
  return [...new Set(naming.filter((one) => one.kind === kind).map(({ id }) => id))]
}

/** The metadata of the entry that records a part. */
export function partJson(
  erasureId: string,
  part: number,
  { destroyed, naming }: ErasurePart,
): JsonObject {
  const tokens = idsOf(naming, "token")
  const named = tokens.length === 0 ? {} : { tokens: [...tokens] }
  return { erasureId, part, ...named, ...formatDestroyed(destroyed) }
}
