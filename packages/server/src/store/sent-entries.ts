// Entries on their way to another thread. What is sent between threads is copied, and each byte
// string and object costs more than its bytes: so all byte strings are sent as one, and an entry
// costs a quarter.

import { concat } from "@tallystick/proof"
import type { Stored } from "./entries.ts"

export interface SentEntries {
  readonly workspace: string
  /** For each entry its sequence, and the lengths of its record, its salt and its body. */
  readonly numbers: readonly number[]
  /**
   * The records, salts and bodies, concatenated, in memory of their own: a small `Buffer` would share
   * 64 KiB with others, and all of it would be sent.
   */
  readonly bytes: Uint8Array
  /** For each entry its receipt, its idempotency key and its disclosures. */
  readonly texts: readonly (string | undefined)[]
}

const [numbersOfEach, textsOfEach] = [4, 3] as const
/** Instead of a sequence: there is no such entry. Instead of a length: there are no such bytes. */
const nothing = -1

export function sentOf(workspace: string, entries: readonly (Stored | undefined)[]): SentEntries {
  const numbers: number[] = []
  const texts: (string | undefined)[] = []
  const parts: Uint8Array[] = []
  for (const entry of entries) {
    const { sequence = nothing, record, receipt, idem, bodySalt, body, disclosures } = entry ?? {}
    numbers.push(sequence)
    for (const part of [record, bodySalt, body]) {
      numbers.push(part?.length ?? nothing)
      if (part !== undefined) parts.push(part)
    }
    texts.push(receipt, idem, disclosures)
  }
  return { workspace, numbers, bytes: concat(...parts), texts }
}

export function receivedOf({
  workspace,
  numbers,
  bytes,
  texts,
}: SentEntries): readonly (Stored | undefined)[] {
  const entries: (Stored | undefined)[] = []
  let end = 0
  const part = (length: number): Uint8Array | undefined =>
    length === nothing ? undefined : bytes.subarray(end, (end += length))
  for (let at = 0; at * numbersOfEach < numbers.length; at++) {
    const [sequence = nothing, ...lengths] = numbers.slice(
      at * numbersOfEach,
      (at + 1) * numbersOfEach,
    )
    const [record = new Uint8Array(), bodySalt, body] = lengths.map(part)
    const [receipt = "", idem, disclosures = ""] = texts.slice(
      at * textsOfEach,
      (at + 1) * textsOfEach,
    )
    entries.push(
      sequence === nothing
        ? undefined
        : { workspace, sequence, record, receipt, idem, bodySalt, body, disclosures },
    )
  }
  return entries
}
