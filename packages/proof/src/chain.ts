import { equalBytes } from "./encoding.ts"
import { eventHash, parseRecord, recordBytes, type RecordFields } from "./record.ts"
import { sha256, type Sha256 } from "./sha256.ts"

/** What is known of the place where an entry must stand. */
export type Place = {
  readonly ledgerId?: Uint8Array | undefined
  readonly index?: number | undefined
  /** The event hash of the entry before. */
  readonly previousHash?: Uint8Array | undefined
  /** The time of the entry before. */
  readonly timeMs?: number | undefined
}

export type PlaceFault = "index" | "ledger" | "link" | "time"

/**
 * Why a record does not stand in its place; undefined if it does. It has that index, is of that
 * ledger, follows the entry before, and is not older. The first entry of a ledger follows the
 * ledgerId.
 */
export function placeFault(
  fields: RecordFields,
  { ledgerId, index, previousHash, timeMs = 0 }: Place,
): PlaceFault | undefined {
  if (index !== undefined && fields.index !== index) return "index"
  if (ledgerId !== undefined && !equalBytes(fields.ledgerId, ledgerId)) return "ledger"
  const previous = fields.index === 0 ? fields.ledgerId : previousHash
  if (previous !== undefined && !equalBytes(fields.previousHash, previous)) return "link"
  return fields.timeMs < timeMs ? "time" : undefined
}

/**
 * A chain that is checked entry by entry. As a place it is the one where the next entry must stand.
 */
export type Chain = Place & {
  /** Of the next entry, and so the number of entries before it. */
  readonly index: number
  /** The event hash of the last entry; of an empty chain, the ledgerId. */
  readonly previousHash: Uint8Array
  /**
   * The fields of the next record; or why it cannot be read or does not follow, and then the chain
   * stays as it was.
   */
  take(record: Uint8Array): RecordFields | PlaceFault | "record"
}

/**
 * Goes on behind the first `index` entries. `last` is the record of the last of them, and is
 * believed.
 */
export function createChain(
  ledgerId: Uint8Array,
  hash: Sha256 = sha256,
  index = 0,
  last: Uint8Array = new Uint8Array(),
): Chain {
  const chain = {
    ledgerId,
    index,
    // Nothing but a first entry follows the ledgerId, so where the record before is missing, no
    // entry fits.
    previousHash: last.length === recordBytes ? eventHash(last, hash) : ledgerId,
    timeMs: parseRecord(last)?.timeMs ?? 0,
    take(record: Uint8Array) {
      const fields = parseRecord(record)
      if (fields === undefined) return "record"
      const fault = placeFault(fields, chain)
      if (fault !== undefined) return fault
      chain.index += 1
      chain.previousHash = eventHash(record, hash)
      chain.timeMs = fields.timeMs
      return fields
    },
  }
  return chain
}
