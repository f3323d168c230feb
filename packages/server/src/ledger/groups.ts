// A group: entries of a workspace that are taken from its line together and linked to a head. Linking
// computes the record, its hash and the link to the entry before.

import { strict as assert } from "node:assert"
import { hash } from "node:crypto"
import { equalBytes, recordBytes, writeRecord } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import { createKeyPlaces } from "../runtime/key-places.ts"
import type { Link } from "../store/opened-entry.ts"
import type { Change } from "../store/documents.ts"
import type { Group, Head, Linked } from "../store/entries.ts"
import type { SealedEntry } from "./seal.ts"

/** What became of an entry: it has its place, or an earlier one has its key. */
export type Placed =
  | { readonly kind: "placed"; readonly link: Link }
  | { readonly kind: "used"; readonly sequence: number }

export interface Chain {
  readonly workspace: string
  readonly ledgerId: Uint8Array
  /** Entries that the ledger goes on from, which its sequences count and its indexes do not. */
  readonly before: number
}

/** Entries that were handed in together, and who is told of them. */
export interface Submission {
  readonly chain: Chain
  changes: readonly Change[]
  readonly placed: (Placed | undefined)[]
  /** Those that have no place yet. */
  waiting: readonly Waiting[]
  /** It was in a group before, and some of it is left. */
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
 * Takes submissions from the front of a line until they are enough for a group; one is never
 * divided. Lines that start at once have as much together as one has alone, so that they can share
 * a commit.
 */
export function takeGroup(
  line: Submission[],
  { commitEntriesMax, commitBytesMax }: Pick<Limits, "commitEntriesMax" | "commitBytesMax">,
  linesAtOnce: number,
): readonly Submission[] {
  let [count, entries, bytes] = [0, 0, 0]
  for (const { waiting, again } of line) {
    // Those that were refused for a companion's sake go without newcomers, who could have them
    // refused again, and so on for ever.
    if (count > 0 && line[0]?.again === true && !again) break
    count += 1
    entries += waiting.length
    for (const { sealed } of waiting) bytes += sealed.body.length + sealed.disclosures.length
    if (entries * linesAtOnce >= commitEntriesMax || bytes * linesAtOnce >= commitBytesMax) break
  }
  return line.splice(0, count)
}

/** A linked group, with the submissions of its entries. */
export interface LinkedGroup {
  readonly submissions: readonly Submission[]
  readonly taken: readonly Waiting[]
  readonly group: Group
  readonly links: readonly Link[]
}

/**
 * Links the waiting entries of a workspace's submissions. Times never decrease, whatever the clock
 * says.
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
        // Of several entries with one key, only the first is linked; its outcome settles the others.
        if (keys.get(idem) !== undefined) continue
        keys.set(idem, entries.length)
      }
      const { record, link } = linkOne(head, chain, one.sealed, recordedMs)
      assert.equal(
        link.sequence,
        from.sequence + entries.length + 1,
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
