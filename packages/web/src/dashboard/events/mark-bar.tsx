// Entries that are marked for an evidence pack, and what to do with them.

import { elementOf, redraw } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { number } from "../../parts/counted.ts"
import { announce } from "../../parts/page.tsx"
import type { Desk } from "../desk.ts"
import { clearMarks, markedIn, turnMark, type Marked } from "../marked.ts"

interface BarParts {
  readonly desk: Desk
  readonly changed: () => void
}

export function createMarkBar({ desk, changed }: BarParts) {
  const node = elementOf(<div class="marks" hidden />)
  const clear = (): void => {
    clearMarks(desk)
    changed()
  }
  return {
    node,
    has: ({ sequence }: Marked) => markedIn(desk).some((each) => each.sequence === sequence),
    turn(entry: Marked): void {
      turnMark(desk, entry)
      announce(`${markedIn(desk).length} marked for a pack`)
      changed()
    },
    draw(): void {
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
