// The epochs of a workspace's ledger. A ledger has one epoch until data is restored whose end is
// lost. Then a new epoch begins: a ledger with another origin and another key, which continues from
// the entries that survived. Sequences count through all epochs; the leaves of each epoch's tree
// count from 0.
//
// A former epoch never grows and is never signed again. Entries beyond its last checkpoint stay
// `pending`: its own key has signed nothing that proves them. The genesis of the next epoch, which
// every later checkpoint covers, commits to the root over all surviving entries.

import { equalBytes, fromHex, parseCheckpoint, parseNote, readLineage } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import type { FormerEpoch, Workspace } from "./documents.ts"
import type { Checkpoint } from "./index-state.ts"

/** Identifies the tree of an epoch. */
export interface Log {
  readonly workspace: string
  /** The number of the epoch, counted from 1. */
  readonly number: number
  /** Entries of earlier epochs: the leaf of a sequence is `sequence - 1 - before`. */
  readonly before: number
  /** The sequence of its last entry; undefined for the current epoch. */
  readonly end: number | undefined
}

export interface Epoch extends Log {
  /** Its genesis, and the geneses of earlier epochs, newest first. */
  readonly geneses: readonly string[]
  readonly ledgerId: Uint8Array
  readonly origin: string
  /** The root over all surviving entries; undefined for the current epoch. */
  readonly root: Uint8Array | undefined
  /** The last known checkpoint of a former epoch. The index has that of the current epoch. */
  readonly checkpoint: Checkpoint | undefined
}

/** The current epoch and the former ones, newest first. */
export function epochsOf({ id, value }: Workspace): readonly [Epoch, ...Epoch[]] {
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
  const open = { end: undefined, root: undefined, checkpoint: undefined }
  return [{ ...epochOf(id, value, before, ended), ...open }, ...ended]
}

export function epochAt(epochs: readonly [Epoch, ...Epoch[]], sequence: number): Epoch {
  return epochs.find(({ before }) => sequence > before) ?? epochs[0]
}

/** The size of a former epoch and its root over all surviving entries. */
export function keptTree({ before, end, root }: Epoch) {
  return end === undefined || root === undefined ? undefined : { size: end - before, root }
}

/** The epoch of a checkpoint. */
export function epochNamed(epochs: readonly Epoch[], note: string): Epoch | undefined {
  const origin = parseCheckpoint(parseNote(note)?.text ?? "")?.origin
  return epochs.find((epoch) => epoch.origin === origin)
}

/** Whether the epochs agree with their geneses. */
export function isAsBorn(workspace: Workspace): boolean {
  const epochs = epochsOf(workspace)
  const lineage = readLineage(epochs[0].geneses, sha256)
  return epochs.every(({ origin, ledgerId, before, end = 0, root = new Uint8Array() }, at) => {
    const born = lineage?.[at]
    const next = at === 0 ? undefined : lineage?.[at - 1]?.genesis.continues
    return (
      born?.genesis.origin === origin &&
      born.genesis.workspaceId === workspace.id &&
      born.earlierEntries === before &&
      equalBytes(born.ledgerId, ledgerId) &&
      (at === 0 || (next?.size === end - before && equalBytes(hashOf(next.root), root)))
    )
  })
}

function epochOf(
  workspace: string,
  { genesis, ledgerId, origin }: Pick<FormerEpoch, "genesis" | "ledgerId" | "origin">,
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

/** Empty for a text that is not a hash. Checking the first entry finds the fault. */
function hashOf(text: string): Uint8Array {
  return fromHex(text) ?? new Uint8Array()
}

function checkpointOf({ checkpoint }: FormerEpoch): Checkpoint | undefined {
  const signed = checkpoint && parseCheckpoint(parseNote(checkpoint.note)?.text ?? "")
  return signed && { size: signed.size, root: signed.root, ...checkpoint }
}
