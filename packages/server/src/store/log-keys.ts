// The keys that sign a log, and from which size of it on each does. A key that takes another's
// place is announced by an entry of kind 05, and signs every tree that has this entry.

import { kinds, parseNote, recordBytes, toHex } from "@tallystick/proof"
import { unseal, type Keyring } from "../secrets/keyring.ts"
import type { LogKeyDocument } from "./documents.ts"
import type { Epoch } from "./epochs.ts"
import type { JournalReader, Registry } from "./store.ts"

export interface LogKey extends LogKeyDocument {
  /** The smallest tree that it signs. */
  readonly fromSize: number
}

/** Of a log, in all its life: whoever checks it is given all of them. */
export const logKeysMax = 1000
const recordsPerRead = 1000
const kindOffset = 4

/**
 * The newest of those of an epoch, newest first. A key whose entry is not there to be seen yet
 * signs nothing, and is left out.
 */
export async function logKeys(
  {
    registry,
    journal,
  }: { readonly registry: Registry; readonly journal: Pick<JournalReader, "records"> },
  epoch: Epoch,
  most = logKeysMax,
): Promise<readonly LogKey[]> {
  const keys: LogKey[] = []
  // Those of the newest epoch are the newest of all.
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
 * Tells the keys that were made by this service: nobody else could have sealed a seed, and bound it
 * to that key. A destroyed one is not told.
 */
export function keysOf(keyring: Keyring): (key: LogKeyDocument) => boolean {
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

/** A key's name is the origin of what it signs. */
async function documentsOf(
  registry: Registry,
  { workspace, origin }: Epoch,
  most = logKeysMax,
): Promise<readonly LogKeyDocument[]> {
  const keys = await registry.list("log-key", workspace, undefined, most)
  return keys.map(({ value }) => value).filter(({ vkey }) => vkey.startsWith(`${origin}+`))
}

/**
 * The key that signed a checkpoint of this log: it may have another one by now, and another may
 * have signed beside it. Without a checkpoint, or with one whose key is not known here, the newest.
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
 * The size of the tree with the first entry of kind 05 behind this one: where it was written was
 * not known when the key was put down.
 */
async function announcement(
  journal: Pick<JournalReader, "records">,
  { workspace, before, end = Infinity }: Epoch,
  after: number,
): Promise<number | undefined> {
  for (let sequence = after + 1; sequence <= end;) {
    const records = await journal.records(workspace, sequence, recordsPerRead)
    for (let at = 0; at < records.length; at += recordBytes, sequence++)
      if (records[at + kindOffset] === kinds.key) return sequence - before
    if (records.length === 0) return undefined
  }
  return undefined
}
