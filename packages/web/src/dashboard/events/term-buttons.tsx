// Buttons next to a value: search for entries with it, or exclude them.

import type { ListedEntry } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { IconButton } from "../../parts/button.tsx"
import { minusIcon, plusIcon } from "../../parts/icon.tsx"
import { termText } from "./asked.ts"

interface TermProps {
  readonly term: string
  /** Adds a term to the search. */
  readonly find: (term: string) => void
}

/** Shown after a value that a search can name. */
export function Terms({
  term,
  find,
}: Pick<TermProps, "find"> & { readonly term: string | undefined }) {
  if (term === undefined) return <></>
  return (
    <span class="terms">
      <TermButtons term={term} find={find} />
    </span>
  )
}

function TermButtons({ term, find }: TermProps) {
  const [searches, excludes] = [`Search ${term}`, `Search without ${term}`]
  return (
    <>
      <IconButton icon={plusIcon} label={searches} onClick={() => find(term)} />
      <IconButton icon={minusIcon} label={excludes} onClick={() => find(`-${term}`)} />
    </>
  )
}

interface RowTermsParts {
  readonly body: HTMLElement
  readonly entryOf: (sequence: number) => ListedEntry | undefined
  readonly find: (term: string) => void
}

const cells: readonly (readonly [cell: string, termOf: (entry: ListedEntry) => string])[] = [
  [".who", ({ actor }) => termText("actor", actor.id)],
  [".act", ({ action }) => termText("action", action)],
  [".tgt", ({ target }) => termText("target", target.id)],
]

/**
 * Shows the buttons in one row: the one under the pointer, or the focused one. Thousands of buttons
 * would slow down both.
 */
export function showRowTerms({ body, entryOf, find }: RowTermsParts): void {
  const places = cells.map(([cell, termOf]) => {
    return { cell, termOf, node: elementOf(<span class="terms" />) }
  })
  const show = ({ target, type }: Event): void => {
    const row = target instanceof Element ? target.closest<HTMLElement>("tr[data-sequence]") : null
    if (row === null || places.every(({ node }) => row.contains(node))) return
    // With the focus in a row, the buttons stay there, because rows move under a resting pointer.
    const inUse = body.querySelector(":focus-visible")?.closest("tr")
    if (type === "pointerover" && places.some(({ node }) => inUse?.contains(node))) return
    const entry = entryOf(Number(row.dataset["sequence"]))
    if (entry === undefined) return
    for (const { cell, termOf, node } of places) {
      redraw(node, <TermButtons term={termOf(entry)} find={find} />)
      row.querySelector(cell)?.append(node)
    }
  }
  body.addEventListener("pointerover", show)
  body.addEventListener("focusin", show)
}
