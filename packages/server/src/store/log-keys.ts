// The keys that sign a log, and the smallest tree that each signs. An entry of kind 05 announces a
// new key, which signs every tree with that entry.

import { kinds, parseNote, recordBytes, toHex } from "@tallystick/proof"
import { unseal, type Keyring } from "../secrets/keyring.ts"
import type { LogKeyDocument } from "./documents.ts"
import type { Epoch } from "./epochs.ts"
import type { JournalReader, Registry } from "./store.ts"

export interface LogKey extends LogKeyDocument {
  /** The smallest tree that it signs. */
  readonly fromSize: number
}

/** The most keys of a log. A verifier gets all of them. */
export const logKeysMax = 1000
/** An announcement is mostly the next entry, and a log may have a thousand of them. */
const recordsFirst = 8
const recordsPerRead = 1000
const kindOffset = 4

/** The newest keys of an epoch, newest first, without keys whose announcement is not stored yet. */
export async function logKeys(
  {
    registry,
    journal,
  }: { readonly registry: Registry; readonly journal: Pick<JournalReader, "records"> },
  epoch: Epoch,
  most = logKeysMax,
): Promise<readonly LogKey[]> {
  const keys: LogKey[] = []
  // The keys of the newest epoch are the newest keys of the workspace.
  for (const value of await documentsOf(
    registry,
    epoch,
    epoch.end === undefined ? most : logKeysMax,
  )) {
    const fromSize =
      value.announcedAfter === undefined
        ? 0
        : await announcement(journal, epoch, value.announcedAfter)
    if (fromSize !== undefined) keys.push({ ...value, fromSize })
  }
  return keys
}

/**
 * Whether this service made a key: only the service can seal a seed and bind it to the key. False
 * for a destroyed key.
 */
export function isSealedBy(keyring: Keyring): (key: LogKeyDocument) => boolean {
  return ({ vkey, wrapped }) => {
    if (wrapped === "") return false
    try {
      unseal(keyring, "log keys", vkey, wrapped)
      return true
    } catch {
      return false
    }
  }
}

/** The name of a key is the origin of its epoch. */
async function documentsOf(
  registry: Registry,
  { workspace, origin }: Epoch,
  most = logKeysMax,
): Promise<readonly LogKeyDocument[]> {
  const keys = await registry.list("log-key", workspace, undefined, most)
  return keys.map(({ value }) => value).filter(({ vkey }) => vkey.startsWith(`${origin}+`))
}

/**
 * The key that signed a checkpoint of this log. The newest key if there is no checkpoint, or if its
 * key is unknown.
 */
export async function vkeyOf(
  registry: Registry,
  epoch: Epoch,
  note: string | undefined,
): Promise<string> {
  for (const { name, keyId } of parseNote(note ?? "")?.signatures ?? []) {
    const key =
      name === epoch.origin
        ? await registry.get("log-key", epoch.workspace, toHex(keyId))
        : undefined
    if (key !== undefined) return key.value.vkey
  }
  const [newest] = await documentsOf(registry, epoch, epoch.end === undefined ? 1 : logKeysMax)
  if (newest === undefined) throw new Error("a log has a key")
  return newest.vkey
}

/**
 * The size of the tree that ends with the first entry of kind 05 after this sequence. The document
 * of a key is written before the sequence of its announcement is known.
 */
async function announcement(
  journal: Pick<JournalReader, "records">,
  { workspace, before, end = Infinity }: Epoch,
  after: number,
): Promise<number | undefined> {
  let count = recordsFirst
  for (let sequence = after + 1; sequence <= end; count = recordsPerRead) {
    const records = await journal.records(workspace, sequence, count)
    for (let at = 0; at < records.length; at += recordBytes, sequence++)
      if (records[at + kindOffset] === kinds.key) return sequence - before
    if (records.length === 0) return undefined
  }
  return undefined
}
