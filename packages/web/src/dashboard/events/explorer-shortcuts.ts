import type { ListedEntry } from "@tallystick/client/wire"
import { copyText } from "../../parts/copy.tsx"
import { confirmed } from "../confirmed.tsx"
import type { Shortcut } from "../desk.ts"
import type { Address } from "./explorer-address.ts"
import type { Controls } from "./explorer-controls.tsx"
import type { ExplorerEntry } from "./explorer-entry.ts"
import type { List } from "./explorer-list.tsx"
import { openExportMenu } from "./export-menu.tsx"

interface ShortcutParts {
  readonly controls: Controls
  readonly list: List
  readonly entry: ExplorerEntry
  readonly address: Address
}

export function explorerShortcuts(parts: ShortcutParts): readonly Shortcut[] {
  const { controls, list, address } = parts
  const { steps, panel, mark } = parts.entry
  const ofEntry = (act: (of: ListedEntry) => void) => () => {
    const of = steps.current()
    if (of !== undefined) act(of)
  }
  const copyLink = (): void => {
    const { sequence } = panel
    copy(sequence === undefined ? location.href : address.entry(sequence), "link")
  }
  return [
    { key: "/", does: "Search", act: controls.focusSearch },
    { key: "j", does: "Row below", act: () => steps.step(1) },
    { key: "k", does: "Row above", act: () => steps.step(-1) },
    { key: "[", does: "Newer entry", act: () => steps.step(-1) },
    { key: "]", does: "Older entry", act: () => steps.step(1) },
    { key: "Escape", does: "Close the entry", act: steps.close },
    { key: "l", does: "Live", act: list.turnLive },
    { key: "t", does: "Time range", act: controls.openRange },
    { key: "e", does: "Export", act: openExportMenu },
    { key: "y", does: "Copy link", act: copyLink },
    {
      key: "c",
      does: "Copy receipt id",
      act: ofEntry(({ receipt }) => copy(receipt, "receipt id")),
    },
    { key: "x", does: "Mark for a pack", act: ofEntry(mark) },
  ]
}

function copy(text: string, what: string): void {
  void copyText(text).then((isCopied) =>
    confirmed(isCopied ? `The ${what} is copied` : "Not copied"),
  )
}
