// Finds the tree that entries are verified against. Somebody who can write the files can store any
// checkpoint, but cannot sign it. So a checkpoint counts only if one of the service's keys signed
// it. Verified checkpoints are remembered in memory, where an edit of the files does not reach.
//
// A key is the service's own if its seed unseals: it is sealed under the secret and bound to the
// key's name, which is the log's. The keys of a former epoch are destroyed. The genesis of the next
// epoch proves what survived of it, and every record of that epoch contains the hash of its
// genesis. So the epochs in a workspace's document are compared with the geneses, and the newest
// genesis with the newest signed tree.

import { createPublicKey, verify } from "node:crypto"
import {
  concat,
  equalBytes,
  openNote,
  parseCheckpoint,
  parseNote,
  parseRecord,
  parseVkey,
  toHex,
  eventHash,
  type Verify,
} from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { LogKeyDocument, Workspace } from "../store/documents.ts"
import { epochsOf, isAsBorn, type Epoch } from "../store/epochs.ts"
import type { HeldEntries } from "../store/held-entries.ts"
import type { Checkpoint } from "../store/index-state.ts"
import type { IndexReader, JournalReader, Registry } from "../store/store.ts"
import { isPrefix, type SignedTree } from "../store/tree-reads.ts"
import { isLeaf, type Leaves } from "./verified-leaves.ts"
import { createLru } from "../runtime/lru-cache.ts"

export interface ProvenTree {
  /** The newest checkpoint. An entry that it covers is `verified`. */
  readonly checkpoint: Checkpoint | undefined
  /**
   * A proven tree. For a former epoch it may be larger than the checkpoint's: everything that
   * survived.
   */
  readonly tree: SignedTree | undefined
  /**
   * The stored checkpoint has no valid signature, or is of another ledger: all entries count as
   * broken.
   */
  readonly isForged: boolean
}

export interface Checkpoints {
  /** `kept`: the stored checkpoint of the current epoch, if it was read already. */
  of(
    workspace: Workspace,
    epoch: Epoch,
    kept?: Pick<HeldEntries, "checkpoint">,
  ): Promise<ProvenTree>
  /**
   * The newest checkpoint of an epoch, to hand out. Throws `integrity_failure` if the stored one is
   * forged.
   */
  newest(workspace: Workspace, epoch: Epoch): Promise<Checkpoint | undefined>
  /** The newest verified one of the current epoch that is in memory. */
  known(epoch: Epoch): Checkpoint | undefined
  /** Remembers a checkpoint that this process has just signed. */
  signed(checkpoint: Checkpoint): void
}

export interface CheckpointParts {
  readonly store: {
    readonly journal: Pick<JournalReader, "records">
    readonly index: Pick<IndexReader, "checkpoint" | "tiles">
  }
  readonly leaves: Leaves
  readonly isGenuine: IsGenuine
}

/** Whether a stored checkpoint of the newest epoch was signed for it. */
export type IsGenuine = (workspace: Workspace, checkpoint: Checkpoint) => Promise<boolean>

/** Remembered checkpoints, about a kilobyte each. */
const logsMax = 10_000

export function createCheckpoints({ store, leaves, isGenuine }: CheckpointParts): Checkpoints {
  const { journal, index } = store
  const known = createLru<Checkpoint>(logsMax)
  const formers = createLru<Promise<ProvenTree>>(logsMax)

  /** Undefined if there is no checkpoint yet; `forged` if the stored one has no valid signature. */
  async function current(
    workspace: Workspace,
    epoch: Epoch,
    read?: Pick<HeldEntries, "checkpoint">,
  ): Promise<Checkpoint | "forged" | undefined> {
    const { checkpoint: kept } = read ?? {
      checkpoint: await index.checkpoint(epoch.workspace, epoch.number),
    }
    const before = known.get(epoch.origin)
    if (kept === undefined || (before !== undefined && kept.size <= before.size)) return before
    if (!(await isGenuine(workspace, kept))) return known.get(epoch.origin) ?? "forged"
    remember(epoch.origin, kept)
    return known.get(epoch.origin)
  }

  function remember(origin: string, checkpoint: Checkpoint): void {
    if (checkpoint.size > (known.get(origin)?.size ?? 0)) known.set(origin, checkpoint)
  }

  /** What survived of a former epoch, if the newest epoch's signed tree commits to it. */
  async function former(workspace: Workspace, epoch: Epoch): Promise<ProvenTree> {
    const [newest] = epochsOf(workspace)
    const signed = await current(workspace, newest)
    // Nothing of the newest epoch is signed in its first second, or while the index is rebuilt. So
    // nothing proves what it continues.
    if (signed === undefined) return none
    if (signed === "forged" || !isAsBorn(workspace) || !(await isLedgerOf(newest, signed)))
      return forged
    const { end = 0, before, root, checkpoint } = epoch
    if (root === undefined) return forged
    const tree = { size: end - before, root }
    const isOfIt =
      checkpoint !== undefined && (await isPrefix({ journal, index }, epoch, checkpoint, tree))
    return { tree, checkpoint: isOfIt ? checkpoint : undefined, isForged: false }
  }

  /** Whether the first record of a signed tree names this ledger. */
  async function isLedgerOf(epoch: Epoch, tree: SignedTree): Promise<boolean> {
    const record = await journal.records(epoch.workspace, epoch.before + 1, 1)
    const fields = parseRecord(record)
    if (fields === undefined || !equalBytes(fields.ledgerId, epoch.ledgerId)) return false
    return isLeaf(leaves, epoch, tree, 0, eventHash(record, sha256))
  }

  async function of(
    ...[workspace, epoch, kept]: Parameters<Checkpoints["of"]>
  ): Promise<ProvenTree> {
    if (epoch.end === undefined) {
      const checkpoint = await current(workspace, epoch, kept)
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
    known: ({ origin }) => known.get(origin),
    async newest(workspace, epoch) {
      const { checkpoint, isForged } = await of(workspace, epoch)
      if (isForged)
        throw new LedgerError(
          "integrity_failure",
          "this log's stored checkpoint was not signed by its key",
        )
      return checkpoint
    },
    signed: (checkpoint) =>
      remember(checkpoint.note.slice(0, checkpoint.note.indexOf("\n")), checkpoint),
  }
}

/** `isOurs`: whether this service made a key. Only the service can seal a seed. */
export function createIsGenuine(
  registry: Pick<Registry, "get">,
  isOurs: (key: LogKeyDocument) => boolean,
): IsGenuine {
  return async (workspace, { size, root, note }) => {
    const [{ origin }] = epochsOf(workspace)
    const parsed = parseNote(note)
    const says = parseCheckpoint(parsed?.text ?? "")
    if (
      parsed === undefined ||
      says?.origin !== origin ||
      says.size !== size ||
      !equalBytes(says.root, root)
    )
      return false
    if (!isAsBorn(workspace)) return false
    const lines = parsed.signatures.filter(({ name }) => name === origin)
    const keys = await Promise.all(
      lines.map(({ keyId }) => registry.get("log-key", workspace.id, toHex(keyId))),
    )
    const ours = keys.flatMap((key) =>
      key !== undefined && isOurs(key.value) ? (parseVkey(key.value.vkey) ?? []) : [],
    )
    return openNote(note, ours, verifyQuickly).ok
  }
}

/** Nothing is signed yet. */
export const none: ProvenTree = { checkpoint: undefined, tree: undefined, isForged: false }
const forged: ProvenTree = { checkpoint: undefined, tree: undefined, isForged: true }

/** The DER prefix of an Ed25519 public key. The 32 bytes of the key follow. */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex")

/** The platform's check is ten times as fast as the portable one. */
const verifyQuickly: Verify = (signature, message, publicKey) =>
  verify(
    null,
    message,
    createPublicKey({
      key: Buffer.from(concat(derPrefix, publicKey)),
      format: "der",
      type: "spki",
    }),
    signature,
  )
