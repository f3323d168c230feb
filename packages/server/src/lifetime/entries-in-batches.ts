import type { Stored } from "../store/entries.ts"
import type { JournalReader } from "../store/store.ts"

/** Entries that are read at once: some milliseconds of work. */
const readAtOnce = 64
const readBytesMax = 4 * 1024 * 1024

/** The entries with these sequences, in their order; undefined for those that are not stored. */
export async function* entriesInBatches(
  journal: Pick<JournalReader, "at">,
  workspace: string,
  sequences: readonly number[],
): AsyncGenerator<readonly (Stored | undefined)[]> {
  for (let at = 0; at < sequences.length;) {
    const entries = await readBatch(journal, workspace, sequences, at)
    yield entries
    at += entries.length
  }
}

/** The next of these entries, from this place on; none at the end. */
export async function readBatch(
  journal: Pick<JournalReader, "at">,
  workspace: string,
  sequences: readonly number[],
  at: number,
): Promise<readonly (Stored | undefined)[]> {
  const some = sequences.slice(at, at + readAtOnce)
  return some.length === 0 ? [] : journal.at(workspace, some, readBytesMax)
}
