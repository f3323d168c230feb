// The entry that is open next to the list, from the address, and navigation to it, from it and past
// it.

import type { ListedEntry } from "@tallystick/client/wire"
import type { Desk } from "../desk.ts"
import { createDrawer, type Drawer } from "./drawer.tsx"
import type { Address } from "./explorer-address.ts"
import type { List } from "./explorer-list.tsx"
import type { Finding } from "./finding.ts"
import { openEntry, type Neighbours } from "./open-entry.ts"
import type { Recomputed, Recomputer } from "./recompute.ts"

export interface OpenedEntry extends Neighbours {
  readonly found: Recomputed
}

interface EntryParts {
  readonly desk: Desk
  readonly finding: Finding
  readonly recomputer: Recomputer
  readonly address: Address
  readonly list: Pick<List, "table" | "marks">
  readonly place: HTMLElement
}

export function createExplorerEntry(parts: EntryParts) {
  const { desk, address } = parts
  const { marks } = parts.list
  const steps = createRowSteps(parts, () => panel)
  const drawer = createDrawer({
    desk,
    step: steps.step,
    close: steps.close,
    find: address.find,
    entryHref: address.entry,
    mark,
    isMarked: (entry) => marks.has(entry),
  })
  const panel: EntryPanel = createEntryPanel(parts, drawer)
  function mark(entry: ListedEntry): void {
    marks.turn(entry)
    drawer.marked(marks.has(entry))
  }
  return { panel, steps, mark }
}

export type ExplorerEntry = ReturnType<typeof createExplorerEntry>

type EntryPanel = ReturnType<typeof createEntryPanel>

function createEntryPanel(parts: EntryParts, drawer: Drawer) {
  const { desk, recomputer, place, address } = parts
  let shown: string | undefined
  let entry: ListedEntry | undefined
  let wanted: object | undefined
  let isCutOff = false
  async function load(name: string): Promise<void> {
    const mine = (wanted = {})
    drawer.waiting()
    const told = await openEntry(desk, name)
    const [found] =
      told.ok && told.value ? await recomputer.recompute([told.value.entry]) : [undefined]
    if (wanted !== mine) return
    isCutOff = !told.ok && told.refusal.status === 0
    if (!told.ok) return drawer.refused(told.refusal, () => void load(name))
    if (told.value === undefined || found === undefined) return drawer.missing(name)
    entry = told.value.entry
    // An address with the receipt is replaced by the one with the sequence.
    if (String(entry.sequence) !== name) return desk.go(address.entry(entry.sequence), "replace")
    drawer.show({ ...told.value, found })
  }
  return {
    /** Its sequence, if the address has it. */
    get sequence() {
      return shown !== undefined && /^\d+$/.test(shown) ? Number(shown) : undefined
    },
    get isOpen() {
      return shown !== undefined
    },
    get entry() {
      return entry
    },
    /** Opens an entry by its sequence, receipt or event id; undefined closes the drawer. */
    show(name: string | undefined): void {
      if (name === shown) return
      const isFirst = shown === undefined
      shown = name
      wanted = entry = undefined
      isCutOff = false
      place.classList.toggle("has-entry", name !== undefined)
      if (name === undefined) return drawer.node.remove()
      if (isFirst) {
        place.append(drawer.node)
        drawer.node.focus({ preventScroll: true })
      }
      void load(name)
    },
    /** Repeats a failed request when the service answers again. */
    again(): void {
      const isBack = desk.chain.refusal() === undefined
      if (isCutOff && isBack && shown !== undefined) void load(shown)
    },
  }
}

function createRowSteps({ desk, finding, address, list }: EntryParts, panel: () => EntryPanel) {
  const { table } = list
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
    current: (): ListedEntry | undefined => {
      const sequence = table.focused() ?? panel().sequence
      const row = finding.rows?.all.find((each) => each.sequence === sequence)
      return row?.entry ?? panel().entry
    },
  }
}
