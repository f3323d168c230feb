// Which entry is open beside the list: the address says it.

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
  /** Where the drawer stands. */
  readonly place: HTMLElement
  readonly hrefOf: (sequence: number) => string
}

export interface EntryPanel {
  /** Its place in the chain, if the address says that. */
  readonly sequence: number | undefined
  readonly isOpen: boolean
  readonly entry: ListedEntry | undefined
  /** By its sequence, receipt or event id; undefined closes it. */
  show(name: string | undefined): void
  /** Asks again for what was cut off, if the service answers. */
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
    // An address by its receipt becomes the one by its place.
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
