// Gives free space back to the disk.

import { StartError } from "../error.ts"
import type { StorePlace } from "../store/open.ts"
import {
  compactJournal,
  type Compacted,
  type CompactProgress,
} from "../store/sqlite/compact-journal.ts"

/** No service may run. Throws for a database, which has tools of its own. */
export function compactLedger(
  { data, databaseUrl }: StorePlace,
  progress: CompactProgress,
): Compacted {
  if (databaseUrl !== undefined)
    throw new StartError(
      "a database gives space back by its own tools: autovacuum makes it free for new entries; VACUUM (FULL) of tallystick.entries, while nothing is written, or pg_repack give it back to the disk",
    )
  return compactJournal(data, progress)
}
