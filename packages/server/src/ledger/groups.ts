// A group: entries of a workspace that are taken from its queue together and linked to a head.
// Linking computes the record, its hash and the link to the entry before.

import { hash } from "node:crypto"
import { assert, equalBytes, recordBytes, writeRecord } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import { createKeyPlaces } from "../runtime/key-places.ts"
import type { Link } from "../store/opened-entry.ts"
import type { Change } from "../store/documents.ts"
import type { Group, Head, Linked } from "../store/entries.ts"
import type { SealedEntry } from "./seal.ts"

/** The outcome of an entry: it has its place in the chain, or an earlier entry has its key. */
export type Placed =
  | { readonly kind: "placed"; readonly link: Link }
  | { readonly kind: "used"; readonly sequence: number }

export interface Chain {
  readonly workspace: string
  readonly ledgerId: Uint8Array
  /**
   * The number of entries of former epochs: sequences count them, the indexes of this ledger do
   * not.
   */
  readonly before: number
}

/** Entries that were submitted together, and the callbacks for their outcome. */
export interface Submission {
  readonly chain: Chain
  changes: readonly Change[]
  readonly placed: (Placed | undefined)[]
  /** Entries that have no place in the chain yet. */
  waiting: readonly Waiting[]
  /** Whether a former group has taken a part of it. */
  again: boolean
  relinks: number
  resolve(placed: readonly Placed[]): void
  reject(error: unknown): void
}

export interface Waiting {
  readonly sealed: SealedEntry
  readonly place: number
  readonly submission: Submission
}

/**
 * Takes submissions from the front of a queue until they fill a group. A submission is never
 * divided. Queues that start at once share the size limits of one group, so that their groups fit
 * into one commit.
 */
export function takeGroup(
  queue: Submission[],
  { commitEntriesMax, commitBytesMax }: Pick<Limits, "commitEntriesMax" | "commitBytesMax">,
  queuesAtOnce: number,
): readonly Submission[] {
  let [count, entries, bytes] = [0, 0, 0]
  for (const { waiting, again } of queue) {
    // Submissions that failed because of another one in their group are retried without new ones,
    // which could make them fail again and again.
    if (count > 0 && queue[0]?.again === true && !again) break
    count += 1
    entries += waiting.length
    for (const { sealed } of waiting) bytes += sealed.body.length + sealed.disclosures.length
    if (entries * queuesAtOnce >= commitEntriesMax || bytes * queuesAtOnce >= commitBytesMax) break
  }
  return queue.splice(0, count)
}

/** A linked group, with the submissions of its entries. */
export interface LinkedGroup {
  readonly submissions: readonly Submission[]
  readonly taken: readonly Waiting[]
  readonly group: Group
  readonly links: readonly Link[]
}

/**
 * Links the waiting entries of a workspace's submissions. Times never decrease, even if the clock
 * is set back.
 */
export function linkAll(
  submissions: readonly Submission[],
  from: Head,
  timeMs: number,
): LinkedGroup {
  const taken: Waiting[] = []
  const entries: Linked[] = []
  const links: Link[] = []
  const keys = createKeyPlaces(submissions.reduce((sum, { waiting }) => sum + waiting.length, 0))
  const [{ chain }] = submissions as readonly [Submission]
  const recordedMs = Math.max(timeMs, from.timeMs)
  let head = from
  for (const submission of submissions) {
    assert(equalBytes(submission.chain.ledgerId, chain.ledgerId), "a workspace has one ledger")
    for (const one of submission.waiting) {
      const { receipt, idem, bodySalt, body, disclosures } = one.sealed
      if (idem !== undefined) {
        // If several entries have one key, only the first is linked. Its outcome settles the
        // others.
        if (keys.get(idem) !== undefined) continue
        keys.set(idem, entries.length)
      }
      const { record, link } = linkOne(head, chain, one.sealed, recordedMs)
      assert(
        link.sequence === from.sequence + entries.length + 1,
        "an entry follows the one before it",
      )
      taken.push(one)
      links.push(link)
      entries.push({ record, receipt, idem, bodySalt, body, disclosures })
      head = link
    }
  }
  const changes = submissions.flatMap((submission) => submission.changes)
  return {
    submissions,
    taken,
    links,
    group: { workspace: chain.workspace, from, mayMove: true, entries, changes },
  }
}

function linkOne(
  head: Head,
  { ledgerId, before }: Chain,
  { kind, bodyHash }: SealedEntry,
  timeMs: number,
): { record: Uint8Array; link: Link } {
  // The hash of a leaf covers a zero byte and the record, so both are written into one buffer.
  // Every byte is set here.
  const leaf = Buffer.allocUnsafe(1 + recordBytes)
  leaf[0] = 0
  const previousHash = head.sequence === before ? ledgerId : head.hash
  writeRecord(leaf, 1, {
    kind,
    index: head.sequence - before,
    timeMs,
    ledgerId,
    previousHash,
    bodyHash,
  })
  const link = {
    sequence: head.sequence + 1,
    timeMs,
    hash: Buffer.from(hash("sha256", leaf, "latin1"), "latin1"),
    previousHash,
  }
  return { record: leaf.subarray(1), link }
}
