// Entries that are marked for an evidence pack, and what to do with them.

import { redraw } from "../../elements/redraw.ts"
import { Button } from "../../parts/button.tsx"
import { number } from "../../parts/counted.ts"
import { announce, elementOf } from "../../parts/page.tsx"
import type { Desk } from "../desk.ts"
import { clearMarks, markedIn, turnMark, type Marked } from "../marked.ts"

interface BarParts {
  readonly desk: Desk
  readonly changed: () => void
}

export interface MarkBar {
  readonly node: HTMLElement
  has(entry: Marked): boolean
  /** Marks it, or removes the mark. */
  turn(entry: Marked): void
  draw(): void
}

export function createMarkBar({ desk, changed }: BarParts): MarkBar {
  const node = elementOf(<div class="marks" hidden />)
  const clear = (): void => {
    clearMarks(desk)
    changed()
  }
  return {
    node,
    has: ({ sequence }) => markedIn(desk).some((each) => each.sequence === sequence),
    turn(entry) {
      turnMark(desk, entry)
      announce(`${markedIn(desk).length} marked for a pack`)
      changed()
    },
    draw() {
      const count = markedIn(desk).length
      const isNew = node.dataset["count"] !== String(count)
      node.hidden = count === 0
      node.dataset["count"] = String(count)
      if (!isNew) return
      redraw(
        node,
        <span>{number(count)} marked for a pack</span>,
        <a class="button main" href={desk.link(["packs"], { marked: 1 })}>
          Make evidence pack
        </a>,
        <Button onClick={clear}>Clear</Button>,
      )
    },
  }
}
