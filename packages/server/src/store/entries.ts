// Stored entries, and groups of entries to append.

import { bodySaltBytes } from "@tallystick/proof"
import type { Change } from "./documents.ts"

/** The end of a workspace's chain. An empty chain has sequence 0 and the ledgerId as its hash. */
export interface Head {
  readonly sequence: number
  readonly hash: Uint8Array
  readonly timeMs: number
}

/** A stored entry. The record stays for ever. Body and disclosures may be destroyed. */
export interface Stored {
  readonly workspace: string
  readonly sequence: number
  readonly record: Uint8Array
  readonly receipt: string
  /** The hash of the idempotency key, as in the body; undefined without a key. */
  readonly idem: string | undefined
  readonly bodySalt: Uint8Array | undefined
  readonly body: Uint8Array | undefined
  /** RFC 9901 disclosures joined by "~", which none of them contains; empty if there are none. */
  readonly disclosures: string
  /** The decoded bytes of the disclosures, joined by 0xff, if the store has this form. */
  readonly packedDisclosures?: Uint8Array | undefined
}

/** A salt and the body after it, as they are stored. */
export function saltAndBody(salted: Uint8Array | undefined): Pick<Stored, "bodySalt" | "body"> {
  return { bodySalt: salted?.subarray(0, bodySaltBytes), body: salted?.subarray(bodySaltBytes) }
}

/** The entry with this salt and body. A driver may compute its values on access. */
export function withBody(entry: Stored, salted: Uint8Array): Stored {
  const { workspace, sequence, record, receipt, idem, disclosures, packedDisclosures } = entry
  const known = { workspace, sequence, record, receipt, idem, disclosures, packedDisclosures }
  return { ...known, ...saltAndBody(salted) }
}

/** The size of an entry. Reads are bounded by it. */
export function bytesOf(
  stored: Pick<Stored, "body" | "disclosures" | "packedDisclosures"> | undefined,
): number {
  if (stored === undefined) return 0
  return (stored.body?.length ?? 0) + (stored.packedDisclosures ?? stored.disclosures).length
}

/** The first entries, at least one, with at most `bytesMax` together. */
export function* upToBytes<T extends Stored | undefined>(
  entries: Iterable<T>,
  bytesMax: number,
): Generator<T> {
  let bytes = 0
  let isFirst = true
  for (const entry of entries) {
    bytes += bytesOf(entry)
    if (bytes > bytesMax && !isFirst) return
    isFirst = false
    yield entry
  }
}

/** An entry that has its place in the chain and is about to be stored. */
export interface Linked extends Omit<Stored, "workspace" | "sequence"> {
  readonly bodySalt: Uint8Array
  readonly body: Uint8Array
}

export interface Group {
  readonly workspace: string
  /** The head that the first entry is linked to. If the head has moved, the group is refused. */
  readonly from: Head
  /** The engine may instead link the entries to the current head, in their order. */
  readonly mayMove?: boolean
  readonly entries: readonly Linked[]
  readonly changes?: readonly Change[]
}

/**
 * Another process had appended: the head that the entries were linked to, and the hash of the last
 * entry.
 */
export interface Relinked {
  readonly from: Head
  readonly lastHash: Uint8Array
}

export type Outcome =
  | { readonly kind: "done"; readonly relinked?: Relinked | undefined }
  /** The head has moved. Contains the new head if the engine knows it. */
  | { readonly kind: "moved"; readonly head?: Head | undefined }
  /**
   * Earlier entries have these keys. Contains the places in the group, and the earlier sequences.
   */
  | {
      readonly kind: "used"
      readonly keys: readonly { readonly place: number; readonly sequence: number }[]
    }
  /** A document is not at the version that the change at this place of the group replaces. */
  | { readonly kind: "conflict"; readonly place: number }
