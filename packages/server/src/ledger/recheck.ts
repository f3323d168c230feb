// Hashes the end of a chain again before anything is added to it: nothing may follow a broken
// entry.

import { createChain, equalBytes } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { takeEntry } from "../store/check-entry.ts"
import { bodiless, readGone } from "../store/destroyed.ts"
import { epochAt, epochsOf } from "../store/epochs.ts"
import type { Workspace } from "../store/documents.ts"
import type { JournalReader, Registry } from "../store/store.ts"

export interface CheckedJournal {
  readonly journal: JournalReader
  /** Knows the destroyed contents. */
  readonly registry: Pick<Registry, "get">
}

/**
 * Checks the last entries of a workspace against record, body and the entry before. Returns the
 * first fault as a sentence. Calls `held` for each good entry.
 */
export async function recheck(
  { journal, registry }: CheckedJournal,
  workspace: Workspace,
  entries: number,
  held: (sequence: number, hash: Uint8Array) => void = () => {},
): Promise<string | undefined> {
  const head = await journal.head(workspace.id)
  if (head === undefined)
    return `workspace ${workspace.id} has no entries, not even the one that creates it`
  const first = Math.max(head.sequence - entries, 0)
  const epochs = epochsOf(workspace)
  const last = first === 0 ? undefined : await journal.records(workspace.id, first, 1)
  let epoch = epochAt(epochs, first + 1)
  let chain = createChain(
    epoch.ledgerId,
    sha256,
    first - epoch.before,
    first === epoch.before ? undefined : last,
  )
  for (let at = first; at < head.sequence;) {
    // Another process may have added entries since the head was read.
    const batch = await journal.after(workspace.id, at, Math.min(entries, head.sequence - at))
    if (batch.length === 0)
      return `workspace ${workspace.id} ends at entry ${at}, but its head is entry ${head.sequence}`
    const goneAt = await readGone(registry, workspace.id, bodiless(batch))
    for (const entry of batch) {
      if (at === epoch.end) {
        epoch = epochAt(epochs, at + 1)
        chain = createChain(epoch.ledgerId, sha256)
      }
      const taken = takeEntry(chain, epoch.before, entry, goneAt(entry.sequence))
      if (typeof taken === "string")
        return `entry ${at + 1} of workspace ${workspace.id} is not what was recorded: ${taken}`
      at = entry.sequence
      held(at, chain.previousHash)
    }
  }
  // The next entry will be linked to this hash.
  if (!equalBytes(head.hash, chain.previousHash))
    return `the head of workspace ${workspace.id} has another hash than its last entry, ${head.sequence}`
  return undefined
}
