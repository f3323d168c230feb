import type { ListedEntry } from "@tallystick/client/wire"
import { copyText } from "../../parts/copy.tsx"
import { announce } from "../../parts/page.tsx"
import type { Shortcut } from "../desk.ts"

interface ShortcutParts {
  readonly search: () => void
  readonly step: (by: -1 | 1) => void
  readonly close: () => void
  readonly live: () => void
  readonly range: () => void
  readonly exports: () => void
  /** The address of the current view. */
  readonly address: () => string
  /** The focused or open entry. */
  readonly entry: () => ListedEntry | undefined
  readonly mark: (entry: ListedEntry) => void
}

export function explorerShortcuts(parts: ShortcutParts): readonly Shortcut[] {
  const { search, step, close, live, range, exports, address, entry, mark } = parts
  const ofEntry = (act: (of: ListedEntry) => void) => () => {
    const of = entry()
    if (of !== undefined) act(of)
  }
  return [
    { key: "/", does: "Search", act: search },
    { key: "j", does: "Row below", act: () => step(1) },
    { key: "k", does: "Row above", act: () => step(-1) },
    { key: "[", does: "Newer entry", act: () => step(-1) },
    { key: "]", does: "Older entry", act: () => step(1) },
    { key: "Escape", does: "Close the entry", act: close },
    { key: "l", does: "Live", act: live },
    { key: "t", does: "Time range", act: range },
    { key: "e", does: "Export", act: exports },
    { key: "y", does: "Copy link", act: () => copy(address(), "link") },
    {
      key: "c",
      does: "Copy receipt id",
      act: ofEntry(({ receipt }) => copy(receipt, "receipt id")),
    },
    { key: "x", does: "Mark for a pack", act: ofEntry(mark) },
  ]
}

function copy(text: string, what: string): void {
  void copyText(text).then((isCopied) => announce(isCopied ? `Copied ${what}` : "Not copied"))
}
