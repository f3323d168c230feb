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
    const some = sequences.slice(at, at + readAtOnce)
    const entries = await journal.at(workspace, some, readBytesMax)
    yield entries
    at += entries.length
  }
}
