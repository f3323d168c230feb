import { equalBytes } from "./encoding.ts"
import { eventHash, parseRecord, recordBytes, type RecordFields } from "./record.ts"
import { sha256, type Sha256 } from "./sha256.ts"

/** The expected place of an entry; only known parts are checked. */
export type Place = {
  readonly ledgerId?: Uint8Array | undefined
  readonly index?: number | undefined
  /** Event hash of the entry before. */
  readonly previousHash?: Uint8Array | undefined
  /** Time of the entry before. */
  readonly timeMs?: number | undefined
}

export type PlaceFault = "index" | "ledger" | "link" | "time"

/**
 * Why a record does not match its place. Undefined if it matches. It must have the index and the
 * ledger, link to the previous entry, and not be older. The first entry links to the ledgerId.
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

/** A chain that is checked entry by entry. It is also the place of the next entry. */
export type Chain = Place & {
  /** Index of the next entry, which is the number of entries so far. */
  readonly index: number
  /** Event hash of the last entry, or the ledgerId of an empty chain. */
  readonly previousHash: Uint8Array
  /**
   * Accepts the next record and returns its fields. Otherwise returns the reason, and the chain
   * does not change.
   */
  take(record: Uint8Array): RecordFields | PlaceFault | "record"
}

/**
 * Continues after the first `index` entries. `last` is the record of the last one; it is not
 * checked.
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
    // Only a first entry links to the ledgerId, so after a missing record no entry fits.
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
