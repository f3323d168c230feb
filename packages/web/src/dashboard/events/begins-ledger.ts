// An entry that names its ledger where all others name the entry before them.

import type { ListedEntry } from "@tallystick/client/wire"

/** The first of all, or of an epoch, whose ledger continues the one before by its genesis. */
export function beginsLedger({ sequence, kind, action }: ListedEntry): boolean {
  return sequence === 1 || (kind === "admin" && action === "ledger.epoch.open")
}
