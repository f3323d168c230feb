import assert from "node:assert/strict"
import test from "node:test"
import { takeGroup, type Submission } from "./groups.ts"
import type { SealedEntry } from "./seal.ts"

function submissionOf(bodyBytes: number, disclosures: string): Submission {
  const sealed: SealedEntry = {
    kind: "event",
    receipt: "",
    idem: undefined,
    body: new Uint8Array(bodyBytes),
    bodySalt: new Uint8Array(16),
    bodyHash: new Uint8Array(32),
    disclosures,
  }
  const submission: Submission = {
    chain: { workspace: "acme", ledgerId: new Uint8Array(32), before: 0 },
    changes: [],
    placed: [],
    waiting: [],
    again: false,
    relinks: 0,
    resolve: () => {},
    reject: () => {},
  }
  submission.waiting = [{ sealed, place: 0, submission }]
  return submission
}

test("bodies and what is sealed of them fill a group together", () => {
  const limits = { commitEntriesMax: 100, commitBytesMax: 1000 }
  const taken = (bodyBytes: number, sealedBytes: number, queuesAtOnce = 1): number => {
    const queue = Array.from({ length: 5 }, () => submissionOf(bodyBytes, "x".repeat(sealedBytes)))
    const { length } = takeGroup(queue, limits, queuesAtOnce)
    assert.equal(queue.length, 5 - length, "they leave the queue")
    return length
  }
  assert.equal(taken(300, 200), 2)
  assert.equal(taken(0, 334), 3)
  assert.equal(taken(334, 0), 3)
  assert.equal(taken(125, 125, 2), 2)
  assert.equal(taken(10, 10), 5)
})
