// Moves from row to row, by keys and by the arrows of the drawer.

import type { ListedEntry } from "@tallystick/client/wire"
import type { Desk } from "../desk.ts"
import type { EntryPanel } from "./entry-panel.ts"
import type { EntryTable } from "./entry-table.tsx"
import type { Address } from "./explorer-address.ts"
import type { Finding } from "./finding.ts"

interface StepParts {
  readonly desk: Desk
  readonly finding: Finding
  readonly address: Address
  readonly table: EntryTable
  readonly panel: () => EntryPanel
}

export function createRowSteps({ desk, finding, address, table, panel }: StepParts) {
  return {
    /** `1` is the next older one. */
    step: (by: -1 | 1): void => {
      const all = finding.rows?.all ?? []
      const { isOpen, sequence: open } = panel()
      const from = open ?? table.focused()
      const at = all.findIndex(({ sequence }) => sequence === from)
      const next = all[from === undefined ? 0 : at + by]
      if (next === undefined || (at < 0 && from !== undefined)) return
      const isInTable = table.focused() !== undefined
      if (isOpen) desk.go(address.entry(next.sequence), "replace")
      table.bring(next.sequence)
      if (!isOpen || isInTable) table.focus(next.sequence)
    },
    /** Closes the open entry; the focus returns to its row. */
    close: (): void => {
      const { isOpen, sequence } = panel()
      if (!isOpen) return
      desk.go(address.list(), "replace")
      if (sequence !== undefined) table.focus(sequence)
    },
    /** The focused or open entry. */
    current: (): ListedEntry | undefined => {
      const sequence = table.focused() ?? panel().sequence
      const row = finding.rows?.all.find((each) => each.sequence === sequence)
      return row?.entry ?? panel().entry
    },
  }
}
