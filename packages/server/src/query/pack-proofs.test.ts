import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { createFrontier, emptyFrontier, verifyInclusion } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import type { Log } from "../store/epochs.ts"
import type { IndexReader, JournalReader } from "../store/store.ts"
import { createInclusions } from "./pack-proofs.ts"

const acme: Log = { workspace: "acme", number: 1, before: 0, end: undefined }

/** A tree over records with only numbers, and how often its tiles were read. */
function openTree(size: number) {
  const record = (index: number): Buffer =>
    Buffer.alloc(118, createHash("sha256").update(`${index}`).digest())
  const level1: Uint8Array[] = []
  const leaves: Uint8Array[] = []
  const roots: Uint8Array[] = []
  const frontier = createFrontier(emptyFrontier, sha256)
  for (let index = 0; index < size; index++) {
    const leaf = createHash("sha256")
      .update(Buffer.concat([Buffer.of(0), record(index)]))
      .digest()
    frontier.append(leaf, (level, _n, hash) => void (level === 8 && level1.push(hash)))
    leaves.push(leaf)
    roots.push(frontier.root())
  }
  const reads: string[] = []
  const journal = {
    async records(_workspace: string, sequence: number, count: number) {
      reads.push(`${sequence}`)
      return Buffer.concat(
        Array.from({ length: Math.min(count, size - sequence + 1) }, (_, at) =>
          record(sequence - 1 + at),
        ),
      )
    },
  } as unknown as JournalReader // the one question that proofs ask
  const index = {
    tiles: async (_workspace: string, _epoch: number, tiles: readonly unknown[]) =>
      tiles.map(() => Buffer.concat(level1)),
  } as unknown as IndexReader // likewise
  return { kept: { journal, index }, reads, leaves, roots }
}

test("every proof of a tree leads to its root, in any order", async () => {
  const { kept, leaves, roots } = openTree(1300)
  const inclusions = createInclusions(kept, acme)
  for (const size of [1, 2, 255, 256, 257, 700, 1024, 1300]) {
    for (let at = 0; at < 40; at++) {
      const index = (at * 7919) % size
      const [leaf, root] = [leaves[index] ?? assert.fail(), roots[size - 1] ?? assert.fail()]
      assert.ok(
        verifyInclusion(leaf, index, size, await inclusions.prove(index, size), root, sha256),
        `${index} of ${size}`,
      )
    }
  }
})

test("neighbouring entries read shared tiles once", async () => {
  const { kept, reads } = openTree(1300)
  const inclusions = createInclusions(kept, acme)
  for (let index = 200; index < 600; index++) await inclusions.prove(index, 1300)
  // Their own tiles, and the one at the right edge, which no tile above holds yet.
  assert.deepEqual(reads.toSorted(), ["1", "1281", "257", "513"])
})
