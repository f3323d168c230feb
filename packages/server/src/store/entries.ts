// What the journal keeps of an entry, and what it is given to keep.

import type { Change } from "./documents.ts"

/** The end of a workspace's chain. An empty chain has sequence 0 and the ledgerId as its hash. */
export interface Head {
  readonly sequence: number
  readonly hash: Uint8Array
  readonly timeMs: number
}

/**
 * An entry as it is kept: the record for ever, what it commits to for as long as it may be kept.
 */
export interface Stored {
  readonly workspace: string
  readonly sequence: number
  readonly record: Uint8Array
  readonly receipt: string
  /** What the body says of the idempotency key; absent when the entry was made without one. */
  readonly idem: string | undefined
  readonly bodySalt: Uint8Array | undefined
  readonly body: Uint8Array | undefined
  /**
   * RFC 9901 disclosures joined by "~", which none of them contains; empty when nothing is sealed.
   */
  readonly disclosures: string
}

/** An entry that has its place in the chain and is about to be kept. */
export interface Linked {
  readonly record: Uint8Array
  readonly receipt: string
  readonly idem: string | undefined
  readonly bodySalt: Uint8Array
  readonly body: Uint8Array
  readonly disclosures: string
}

export interface Group {
  readonly workspace: string
  /** The head that the first entry was linked to; the group is refused when it has moved. */
  readonly from: Head
  readonly entries: readonly Linked[]
  readonly changes?: readonly Change[]
}

export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "moved" }
  /**
   * Keys that earlier entries have used: the place in the group, and the sequence of the earlier
   * entry.
   */
  | {
      readonly kind: "used"
      readonly keys: readonly { readonly place: number; readonly sequence: number }[]
    }
  /** A document is not at the version that the change at this place of the group replaces. */
  | { readonly kind: "conflict"; readonly place: number }
