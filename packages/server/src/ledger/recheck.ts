// Before anything is added to a chain, its end is hashed again: an entry that does not hold must not be built upon.

import { bodyHash, equalBytes, eventHash, parseRecord } from "@tallystick/proof"
import { sha256 } from "../sha256.ts"
import { epochAt, epochsOf } from "../store/epochs.ts"
import type { Document, JournalReader, Stored } from "../store/store.ts"

/** The last entries of a workspace, each against its record, its body and the entry before it. Returns what is wrong, as a sentence. */
export async function recheck(
  journal: JournalReader,
  workspace: Document<"workspace">,
  entries: number,
  held: (sequence: number, hash: Uint8Array) => void = () => {},
): Promise<string | undefined> {
  const head = await journal.head(workspace.id)
  if (head === undefined) return `workspace ${workspace.id} has no entries, though the first one is made with it`
  const first = Math.max(head.sequence - entries, 0)
  const epochs = epochsOf(workspace)
  let previous = first === 0 ? undefined : eventHash(await journal.records(workspace.id, first, 1), sha256)
  for (let at = first; at < head.sequence;) {
    const batch = await journal.after(workspace.id, at, entries)
    if (batch.length === 0) return `workspace ${workspace.id} ends at entry ${at}, its head is entry ${head.sequence}`
    for (const entry of batch) {
      const { before, ledgerId } = epochAt(epochs, at + 1)
      if (at === before) previous = ledgerId
      const hash = holds(entry, { at, before, previous }) ? eventHash(entry.record, sha256) : undefined
      if (hash === undefined) return `entry ${at + 1} of workspace ${workspace.id} is not what was recorded`
      previous = hash
      at = entry.sequence
      held(at, hash)
    }
  }
  return undefined
}

interface Place {
  readonly at: number
  readonly before: number
  readonly previous: Uint8Array | undefined
}

function holds({ sequence, record, body, bodySalt }: Stored, { at, before, previous }: Place): boolean {
  const fields = parseRecord(record)
  if (sequence !== at + 1 || fields?.index !== at - before || previous === undefined || body === undefined || bodySalt === undefined)
    return false
  return equalBytes(fields.previousHash, previous) && equalBytes(bodyHash(bodySalt, body, sha256), fields.bodyHash)
}
