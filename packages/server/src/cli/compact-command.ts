// `tallystick compact`: gives the free space within the journal's file back to the disk. The service
// must be stopped.

import { StartError } from "../error.ts"
import { compactJournal } from "../store/sqlite/compact-journal.ts"
import { configOf, type Terminal } from "./terminal.ts"

/** Throws for a database, which has tools of its own. */
export function runCompact(terminal: Terminal): void {
  const { say, progress } = terminal
  const { data, databaseUrl } = configOf(terminal)
  if (databaseUrl !== undefined)
    throw new StartError(
      "a database gives space back by its own tools: autovacuum makes it free for new entries; VACUUM (FULL) of tallystick.entries, while nothing is written, or pg_repack give it back to the disk",
    )
  const { bytesBefore, bytesAfter } = compactJournal(data, (done, rows) =>
    progress(`${done} of ${rows} rows`),
  )
  say(`journal.db has ${mebibytes(bytesAfter)} MiB, ${mebibytes(bytesBefore)} MiB before.\n`)
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
