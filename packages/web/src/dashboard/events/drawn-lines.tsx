// The lines of the table that are in the document. A line is drawn again only if its content
// changes.

import type { ChainState } from "@tallystick/client/wire"
import { elementOf } from "../../elements/elements.ts"
import { BreakLine, CheckpointLine, DayLine, EntryLine } from "./entry-line.tsx"
import type { Line } from "./lines.ts"
import type { Row } from "./rows.ts"

export interface Shown {
  readonly rows: readonly Row[]
  readonly total: number | undefined
  readonly checkpoint: ChainState["checkpoint"]
  /** The sequence of the entry in the drawer. */
  readonly open: number | undefined
  readonly marked: ReadonlySet<number>
  /** In the first line: the number of new entries. */
  readonly beside: Node | undefined
}

export function createDrawnLines(hrefOf: (sequence: number) => string) {
  const drawn = new Map<string, { readonly row: HTMLElement; readonly as: unknown }>()

  function rowOf(key: string, line: Line, shown: Shown): HTMLElement {
    const known = drawn.get(key)
    const as = contentOf(line, shown)
    if (known !== undefined && isSame(known.as, as)) {
      // A new entry moves every row by one place, and changes nothing else.
      if (line.kind === "entry") known.row.ariaRowIndex = String(line.place + 2)
      return known.row
    }
    const row = elementOf(drawLine(line, shown))
    const hasFocus = known?.row.contains(document.activeElement) === true
    known?.row.replaceWith(row)
    drawn.set(key, { row, as })
    if (hasFocus) row.querySelector("a")?.focus({ preventScroll: true })
    return row
  }

  function contentOf(line: Line, shown: Shown): readonly unknown[] {
    if (line.kind === "day") return [line.day, line.isFirst ? shown.beside : undefined]
    if (line.kind === "checkpoint") return [shown.checkpoint?.sequence]
    if (line.kind === "break") return []
    const { row, isShifted } = line
    const { sequence } = row
    const isOpen = sequence === shown.open
    return [row, isShifted, isOpen, shown.marked.has(sequence), isOpen && hrefOf(sequence)]
  }

  function drawLine(line: Line, { beside, checkpoint, open, marked }: Shown): Node {
    if (line.kind === "day")
      return <DayLine day={line.day} beside={line.isFirst ? beside : undefined} />
    if (line.kind === "break") return <BreakLine above={line.above} below={line.below} />
    if (line.kind === "checkpoint") return checkpoint ? <CheckpointLine of={checkpoint} /> : <tr />
    const { row, place, isShifted } = line
    return (
      <EntryLine
        row={row}
        place={place + 1}
        isShifted={isShifted}
        isOpen={row.sequence === open}
        isMarked={marked.has(row.sequence)}
        href={hrefOf(row.sequence)}
      />
    )
  }

  return {
    /** Puts only these lines into the document, after the given row. */
    show(lines: readonly Line[], behind: Element, shown: Shown): void {
      const wanted = new Map(lines.map((line) => [keyOf(line), line] as const))
      for (const [key, { row }] of drawn)
        if (!wanted.has(key)) {
          row.remove()
          drawn.delete(key)
        }
      let place = behind
      for (const [key, line] of wanted) {
        const row = rowOf(key, line, shown)
        if (place.nextElementSibling !== row) place.after(row)
        place = row
      }
    },
    clear(): void {
      for (const { row } of drawn.values()) row.remove()
      drawn.clear()
    },
    linkOf: (sequence: number) => drawn.get(`#${sequence}`)?.row.querySelector("a") ?? undefined,
  }
}

function keyOf(line: Line): string {
  if (line.kind === "entry") return `#${line.row.sequence}`
  if (line.kind === "break") return `break ${line.above.sequence}`
  return line.kind === "day" ? `day ${line.above}` : line.kind
}

function isSame(known: unknown, now: readonly unknown[]): boolean {
  return Array.isArray(known) && now.every((value, at) => value === known[at])
}
