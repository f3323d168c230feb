// Links entries to a head: computes the record, its hash and the link to the entry before.

import { strict as assert } from "node:assert"
import { hash } from "node:crypto"
import { equalBytes, recordBytes, writeRecord } from "@tallystick/proof"
import type { Link } from "../store/opened-entry.ts"
import type { Group, Head, Linked } from "../store/store.ts"
import type { Chain, Submission, Waiting } from "./submissions.ts"
import type { SealedEntry } from "./seal.ts"

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
  const keys = new Set<string>()
  const [{ chain }] = submissions as readonly [Submission]
  const recordedMs = Math.max(timeMs, from.timeMs)
  let head = from
  for (const submission of submissions) {
    assert(equalBytes(submission.chain.ledgerId, chain.ledgerId), "a workspace has one ledger")
    for (const one of submission.waiting) {
      const { receipt, idem, bodySalt, body, disclosures } = one.sealed
      if (idem !== undefined) {
        // Of several entries with one key, only the first is linked; its outcome settles the others.
        if (keys.has(idem)) continue
        keys.add(idem)
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
    group: { workspace: chain.workspace, from, entries, changes },
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
