// Before anything is added to a chain, its end is hashed again: an entry that does not hold must not be built upon.

import { bodyHash, equalBytes, eventHash, fromHex, parseRecord } from "@tallystick/proof"
import { sha256 } from "../sha256.ts"
import type { Document, JournalReader } from "../store/store.ts"

/** The last entries of a workspace, each against its record, its body and the entry before it. Returns what is wrong, as a sentence. */
export async function recheck(journal: JournalReader, workspace: Document<"workspace">, entries: number): Promise<string | undefined> {
  const head = await journal.head(workspace.id)
  if (head === undefined) return `workspace ${workspace.id} has no entries, though the first one is made with it`
  const first = Math.max(head.sequence - entries, 0)
  let previous = first === 0 ? fromHex(workspace.value.ledgerId) : eventHash(await journal.records(workspace.id, first, 1), sha256)
  for (const { sequence, record, body, bodySalt } of await journal.after(workspace.id, first, entries)) {
    const fields = parseRecord(record)
    const linked = fields?.index === sequence - 1 && previous !== undefined && equalBytes(fields.previousHash, previous)
    const whole =
      body !== undefined && bodySalt !== undefined && fields !== undefined && equalBytes(bodyHash(bodySalt, body, sha256), fields.bodyHash)
    if (!linked || !whole) return `entry ${sequence} of workspace ${workspace.id} is not what was recorded`
    previous = eventHash(record, sha256)
  }
  return undefined
}
