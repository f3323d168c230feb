// `tallystick compact`: gives the free space within the journal's file back to the disk. The service
// must be stopped.

import { compactLedger } from "../operator/compact.ts"
import { configOf, type Terminal } from "./terminal.ts"

export function runCompact(terminal: Terminal): void {
  const { say, progress } = terminal
  const { bytesBefore, bytesAfter } = compactLedger(configOf(terminal), (done, rows) =>
    progress(`${done} of ${rows} rows`),
  )
  say(`journal.db has ${mebibytes(bytesAfter)} MiB, ${mebibytes(bytesBefore)} MiB before.\n`)
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
