// Which tree entries may be held against. Whoever can write the files can write any checkpoint there, but not sign it: so a checkpoint counts
// once a key of ours is found to have signed it, and one that was found so is remembered, where no file says otherwise.
//
// A key is ours if its seed unseals: it is sealed under the service's secret and bound to the key's name, which is the log's. The keys of a
// former epoch are destroyed. What was kept of it is proven by the genesis of the next one, whose hash is in every record of that; so all
// that a workspace's document says of its epochs is held against the geneses, and the newest of these against the newest tree.

import { createPublicKey, verify } from "node:crypto"
import {
  concat,
  equalBytes,
  fromHex,
  openNote,
  parseCheckpoint,
  parseNote,
  parseRecord,
  parseVkey,
  readLineage,
  toHex,
  eventHash,
  type Verify,
} from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { LogKeyDocument } from "../store/documents.ts"
import { epochsOf, type Epoch } from "../store/epochs.ts"
import type { Checkpoint, Document, Registry, Store } from "../store/store.ts"
import { isPrefix, type SignedTree } from "../store/tree-reads.ts"
import { isLeaf, type Leaves } from "./verified-leaves.ts"
import { createLru } from "../runtime/lru-cache.ts"

/** What an epoch's entries are held against. */
export interface Proven {
  /** The newest checkpoint: an entry that it covers is `verified`. */
  readonly checkpoint: Checkpoint | undefined
  /** A tree that may have more than that: all that was kept of a former epoch. */
  readonly tree: SignedTree | undefined
  /** What is kept as signed is not, or says another ledger than was signed: none of its entries can be believed. */
  readonly isForged: boolean
}

export interface Checkpoints {
  of(workspace: Document<"workspace">, epoch: Epoch): Promise<Proven>
  /** The newest of an epoch, for who gives it out; throws `integrity_failure` when what is kept as such is none. */
  newest(workspace: Document<"workspace">, epoch: Epoch): Promise<Checkpoint | undefined>
  /** It was signed just now, by this process. */
  signed(checkpoint: Checkpoint): void
}

export interface CheckpointParts {
  readonly store: Pick<Store, "journal" | "index">
  readonly leaves: Leaves
  readonly isGenuine: IsGenuine
}

/** Whether a checkpoint that is kept of the newest epoch was signed for it. */
export type IsGenuine = (workspace: Document<"workspace">, checkpoint: Checkpoint) => Promise<boolean>

/** Logs whose newest checkpoint is remembered, a kilobyte each. */
const logsMax = 10_000

export function createCheckpoints({ store, leaves, isGenuine }: CheckpointParts): Checkpoints {
  const { journal, index } = store
  /** By origin. */
  const known = createLru<Checkpoint>(logsMax)
  const formers = createLru<Promise<Proven>>(logsMax)

  /** Undefined while there is none; `forged` when what is there was signed by nobody. */
  async function current(workspace: Document<"workspace">, epoch: Epoch): Promise<Checkpoint | "forged" | undefined> {
    const kept = await index.checkpoint(epoch.workspace, epoch.number)
    const before = known.get(epoch.origin)
    if (kept === undefined || (before !== undefined && kept.size <= before.size)) return before
    if (!(await isGenuine(workspace, kept))) return known.get(epoch.origin) ?? "forged"
    remember(epoch.origin, kept)
    return known.get(epoch.origin)
  }

  function remember(origin: string, checkpoint: Checkpoint): void {
    if (checkpoint.size > (known.get(origin)?.size ?? 0)) known.set(origin, checkpoint)
  }

  /** All that was kept of a former epoch, if the newest one's signed tree commits to it. */
  async function former(workspace: Document<"workspace">, epoch: Epoch): Promise<Proven> {
    const epochs = epochsOf(workspace)
    const [newest] = epochs
    const signed = await current(workspace, newest)
    // In its first second, and where the index is made anew, nothing is signed of the newest one: nothing says what it goes on from.
    if (signed === undefined) return none
    if (signed === "forged" || !isAsBorn(workspace, epochs) || !(await isLedgerOf(newest, signed))) return forged
    const { end = 0, before, root, checkpoint } = epoch
    if (root === undefined) return forged
    const tree = { size: end - before, root }
    const isOfIt = checkpoint !== undefined && (await isPrefix({ journal, index }, epoch, checkpoint, tree))
    return { tree, checkpoint: isOfIt ? checkpoint : undefined, isForged: false }
  }

  /** Whether the tree that was signed for a ledger is of records that name it. */
  async function isLedgerOf(epoch: Epoch, tree: SignedTree): Promise<boolean> {
    const record = await journal.records(epoch.workspace, epoch.before + 1, 1)
    const fields = parseRecord(record)
    if (fields === undefined || !equalBytes(fields.ledgerId, epoch.ledgerId)) return false
    return isLeaf(leaves, epoch, tree, 0, eventHash(record, sha256))
  }

  async function of(workspace: Document<"workspace">, epoch: Epoch): Promise<Proven> {
    if (epoch.end === undefined) {
      const checkpoint = await current(workspace, epoch)
      return checkpoint === "forged" ? forged : { checkpoint, tree: checkpoint, isForged: false }
    }
    const key = JSON.stringify([epoch.workspace, epoch.number, workspace.value])
    const shared = formers.get(key) ?? former(workspace, epoch)
    formers.set(key, shared)
    const proven = await shared.catch((error: unknown) => {
      formers.delete(key)
      throw error
    })
    if (proven === none) formers.delete(key)
    return proven
  }

  return {
    of,
    async newest(workspace, epoch) {
      const { checkpoint, isForged } = await of(workspace, epoch)
      if (isForged) throw new LedgerError("integrity_failure", "what is kept as this log's checkpoint was not signed by its key")
      return checkpoint
    },
    signed: (checkpoint) => remember(checkpoint.note.slice(0, checkpoint.note.indexOf("\n")), checkpoint),
  }
}

/** `isOurs`: whether a log's key was made by this service. Nobody else can seal its seed. */
export function createIsGenuine(registry: Pick<Registry, "get">, isOurs: (key: LogKeyDocument) => boolean): IsGenuine {
  return async (workspace, { size, root, note }) => {
    const epochs = epochsOf(workspace)
    const [{ origin }] = epochs
    const parsed = parseNote(note)
    const says = parseCheckpoint(parsed?.text ?? "")
    if (parsed === undefined || says?.origin !== origin || says.size !== size || !equalBytes(says.root, root)) return false
    if (!isAsBorn(workspace, epochs)) return false
    const lines = parsed.signatures.filter(({ name }) => name === origin)
    const keys = await Promise.all(lines.map(({ keyId }) => registry.get("log-key", workspace.id, toHex(keyId))))
    const ours = keys.flatMap((key) => (key !== undefined && isOurs(key.value) ? (parseVkey(key.value.vkey) ?? []) : []))
    return openNote(note, ours, verifyQuickly).ok
  }
}

/** Of which nothing is signed. */
export const none: Proven = { checkpoint: undefined, tree: undefined, isForged: false }
const forged: Proven = { checkpoint: undefined, tree: undefined, isForged: true }

/** Whether the epochs are what their geneses say of them. */
function isAsBorn(workspace: Document<"workspace">, epochs: readonly [Epoch, ...Epoch[]]): boolean {
  const lineage = readLineage(epochs[0].geneses, sha256)
  return epochs.every(({ origin, ledgerId, before, end, root }, at) => {
    const born = lineage?.[at]
    const next = at === 0 ? undefined : lineage?.[at - 1]?.genesis.continues
    return (
      born?.genesis.origin === origin &&
      born.genesis.workspaceId === workspace.id &&
      born.earlierEntries === before &&
      equalBytes(born.ledgerId, ledgerId) &&
      (at === 0 || (next?.size === (end ?? 0) - before && equalBytes(fromHex(next.root) ?? new Uint8Array(), root ?? new Uint8Array())))
    )
  })
}

/** What stands before the 32 bytes of a key in the DER form of an Ed25519 public key. */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex")

/** By the platform: ten times as fast as the portable one. */
const verifyQuickly: Verify = (signature, message, publicKey) =>
  verify(null, message, createPublicKey({ key: Buffer.from(concat(derPrefix, publicKey)), format: "der", type: "spki" }), signature)
