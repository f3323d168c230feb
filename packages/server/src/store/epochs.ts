// The epochs of a workspace's ledger. It has one, until data is restored of which the end is lost:
// what is written from then on is a ledger of its own, with another origin and another key, which
// goes on from what was kept of the one before. Sequences count through all of them; the leaves of
// each one's tree are counted from 0.
//
// A former epoch never grows, and is never signed again. What its last checkpoint does not cover
// stays `pending`: nothing that its own key has signed proves it, and the next epoch's genesis,
// which every later checkpoint covers, commits to the root over all that was kept.

import { fromHex, parseCheckpoint, parseNote } from "@tallystick/proof"
import type { FormerEpoch } from "./documents.ts"
import type { Checkpoint, Document } from "./store.ts"

/** Where the tree of an epoch is found. */
export interface Log {
  readonly workspace: string
  /** Which of the workspace's epochs it is, counted from 1. */
  readonly number: number
  /** Entries of the epochs before: the leaf of a sequence is `sequence - 1 - before`. */
  readonly before: number
  /** The sequence of its last entry; undefined as long as it grows. */
  readonly end: number | undefined
}

export interface Epoch extends Log {
  /** Its genesis, and those of the epochs before, newest first. */
  readonly geneses: readonly string[]
  readonly ledgerId: Uint8Array
  readonly origin: string
  /** Over all that was kept of it; undefined as long as it grows. */
  readonly root: Uint8Array | undefined
  /** The last that was kept of a former epoch; that of the current one is the index's. */
  readonly checkpoint: Checkpoint | undefined
}

/**
 * The current one and those before it, newest first: the one that is asked for is nearly always the
 * first.
 */
export function epochsOf({ id, value }: Document<"workspace">): readonly [Epoch, ...Epoch[]] {
  const { former = [] } = value
  const ended: Epoch[] = []
  let before = 0
  for (const one of former) {
    const end = before + one.size
    ended.unshift({
      ...epochOf(id, one, before, ended),
      end,
      root: hashOf(one.root),
      checkpoint: checkpointOf(one),
    })
    before = end
  }
  return [
    {
      ...epochOf(id, value, before, ended),
      end: undefined,
      root: undefined,
      checkpoint: undefined,
    },
    ...ended,
  ]
}

/** The one that an entry is of. */
export function epochAt(epochs: readonly [Epoch, ...Epoch[]], sequence: number): Epoch {
  return epochs.find(({ before }) => sequence > before) ?? epochs[0]
}

/** The one that a checkpoint is of. */
export function epochNamed(epochs: readonly Epoch[], note: string): Epoch | undefined {
  const origin = parseCheckpoint(parseNote(note)?.text ?? "")?.origin
  return epochs.find((epoch) => epoch.origin === origin)
}

function epochOf(
  workspace: string,
  { genesis, ledgerId, origin }: Born,
  before: number,
  earlier: readonly Epoch[],
) {
  return {
    workspace,
    number: earlier.length + 1,
    before,
    geneses: [genesis, ...(earlier[0]?.geneses ?? [])],
    ledgerId: hashOf(ledgerId),
    origin,
  }
}

type Born = Pick<FormerEpoch, "genesis" | "ledgerId" | "origin">

/** What is no hash is no entry's ledger either, which the first of them tells. */
function hashOf(text: string): Uint8Array {
  return fromHex(text) ?? new Uint8Array()
}

function checkpointOf({ checkpoint }: FormerEpoch): Checkpoint | undefined {
  const signed = checkpoint && parseCheckpoint(parseNote(checkpoint.note)?.text ?? "")
  return signed && { size: signed.size, root: signed.root, ...checkpoint }
}
