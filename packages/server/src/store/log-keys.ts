// The keys that sign a workspace's log, and from which size of it on each does. A key that takes another's place is announced by an
// entry of kind 05, and signs every tree that has this entry.

import { kinds, parseNote, recordBytes, toHex } from "@tallystick/proof"
import type { LogKeyDocument } from "./documents.ts"
import type { Document, JournalReader, Registry } from "./store.ts"

export interface LogKey extends LogKeyDocument {
  /** The smallest tree that it signs. */
  readonly fromSize: number
}

/** Of a log, in all its life: whoever checks it is given all of them. */
export const logKeysMax = 1000
const recordsPerRead = 1000
const kindOffset = 4

/** The newest of them, newest first. A key whose entry is not there to be seen yet signs nothing, and is left out. */
export async function logKeys(
  { registry, journal }: { readonly registry: Registry; readonly journal: Pick<JournalReader, "records"> },
  workspace: string,
  most = logKeysMax,
): Promise<readonly LogKey[]> {
  const keys: LogKey[] = []
  for (const { value } of await registry.list("log-key", workspace, Number.MAX_SAFE_INTEGER, most)) {
    const fromSize = value.announcedAfter === undefined ? 0 : await announcement(journal, workspace, value.announcedAfter)
    if (fromSize !== undefined) keys.push({ ...value, fromSize })
  }
  return keys
}

/**
 * The key that signed a checkpoint: the workspace may have another one by now, and another may have signed beside it. Without a
 * checkpoint, or with one whose key is not known here, the newest.
 */
export async function vkeyOf(registry: Registry, { id, value }: Document<"workspace">, note: string | undefined): Promise<string> {
  for (const { name, keyId } of parseNote(note ?? "")?.signatures ?? []) {
    const key = name === value.origin ? await registry.get("log-key", id, toHex(keyId)) : undefined
    if (key !== undefined) return key.value.vkey
  }
  const [newest] = await registry.list("log-key", id, Number.MAX_SAFE_INTEGER, 1)
  if (newest === undefined) throw new Error("a workspace has a key")
  return newest.value.vkey
}

/** The sequence of the first entry of kind 05 behind this one: where it was written was not known when the key was put down. */
async function announcement(journal: Pick<JournalReader, "records">, workspace: string, after: number): Promise<number | undefined> {
  for (let sequence = after + 1; ;) {
    const records = await journal.records(workspace, sequence, recordsPerRead)
    for (let at = 0; at < records.length; at += recordBytes, sequence++) if (records[at + kindOffset] === kinds.key) return sequence
    if (records.length === 0) return undefined
  }
}
