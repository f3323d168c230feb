// The entry that is open next to the list, and navigation to it, from it and past it.

import type { ListedEntry } from "@tallystick/client/wire"
import type { Desk } from "../desk.ts"
import { createDrawer } from "./drawer.tsx"
import { createEntryPanel, type EntryPanel } from "./entry-panel.ts"
import type { Address } from "./explorer-address.ts"
import type { List } from "./explorer-list.tsx"
import type { Finding } from "./finding.ts"
import type { Recomputer } from "./recompute.ts"
import { createRowSteps } from "./row-steps.ts"

interface EntryParts {
  readonly desk: Desk
  readonly finding: Finding
  readonly recomputer: Recomputer
  readonly address: Address
  readonly list: Pick<List, "table" | "marks">
  /** The element of the drawer. */
  readonly place: HTMLElement
}

export function createExplorerEntry(parts: EntryParts) {
  const { desk, address, recomputer, place } = parts
  const { table, marks } = parts.list
  const steps = createRowSteps({ ...parts, table, panel: () => panel })
  const drawer = createDrawer({
    desk,
    step: steps.step,
    close: steps.close,
    find: address.find,
    entryHref: address.entry,
    mark,
    isMarked: (entry) => marks.has(entry),
  })
  const hrefOf = address.entry
  const panel: EntryPanel = createEntryPanel({ desk, drawer, recomputer, place, hrefOf })
  function mark(entry: ListedEntry): void {
    marks.turn(entry)
    drawer.marked(marks.has(entry))
  }
  return { panel, steps, mark }
}
