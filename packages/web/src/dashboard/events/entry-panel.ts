// The entry that is open next to the list, from the address.

import type { ListedEntry } from "@tallystick/client/wire"
import type { Desk } from "../desk.ts"
import type { Drawer } from "./drawer.tsx"
import { openEntry, type Neighbours } from "./open-entry.ts"
import type { Recomputed, Recomputer } from "./recompute.ts"

export interface OpenedEntry extends Neighbours {
  readonly found: Recomputed
}

interface PanelParts {
  readonly desk: Desk
  readonly drawer: Drawer
  readonly recomputer: Recomputer
  /** The element of the drawer. */
  readonly place: HTMLElement
  readonly hrefOf: (sequence: number) => string
}

export interface EntryPanel {
  /** Its sequence, if the address has it. */
  readonly sequence: number | undefined
  readonly isOpen: boolean
  readonly entry: ListedEntry | undefined
  /** Opens an entry by its sequence, receipt or event id; undefined closes the drawer. */
  show(name: string | undefined): void
  /** Repeats a failed request when the service answers again. */
  again(): void
}

export function createEntryPanel({
  desk,
  drawer,
  recomputer,
  place,
  hrefOf,
}: PanelParts): EntryPanel {
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
    if (String(entry.sequence) !== name) return desk.go(hrefOf(entry.sequence), "replace")
    drawer.show({ ...told.value, found })
  }
  return {
    get sequence() {
      return shown !== undefined && /^\d+$/.test(shown) ? Number(shown) : undefined
    },
    get isOpen() {
      return shown !== undefined
    },
    get entry() {
      return entry
    },
    show(name) {
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
    again() {
      const isBack = desk.chain.refusal() === undefined
      if (isCutOff && isBack && shown !== undefined) void load(shown)
    },
  }
}
