// The table of entries. Of thousands of lines those alone are in the document that are seen; every
// line of a kind is as high as the next, so that where a line stands is known before it is drawn.

import type { ChainState } from "@tallystick/client/wire"
import { elementOf } from "../../parts/page.tsx"
import { timeText, zoneName } from "../../parts/time.tsx"
import { BreakLine, CheckpointLine, DayLine, EntryLine } from "./entry-line.tsx"
import { linesOf, type Line } from "./lines.ts"
import type { Row } from "./rows.ts"

export interface Shown {
  readonly rows: readonly Row[]
  readonly total: number
  readonly checkpoint: ChainState["checkpoint"]
  /** The sequence of the entry in the drawer. */
  readonly open: number | undefined
  readonly marked: ReadonlySet<number>
  /** In the first line: what has come meanwhile. */
  readonly beside: Node | undefined
}

interface TableParts {
  readonly hrefOf: (sequence: number) => string
  readonly open: (sequence: number) => void
  /** The end is near. */
  readonly older: () => void
  /** A row is looked at of which the place alone is known. */
  readonly again: (sequence: number) => void
}

export interface EntryTable {
  readonly node: HTMLElement
  show(shown: Shown): void
  /** Times are told in another zone. */
  redraw(): void
  /** Brings a row into view. */
  bring(sequence: number): void
  /** Gives the keyboard to a row that is in view. */
  focus(sequence: number): void
  /** The row that has the keyboard. */
  focused(): number | undefined
  close(): void
}

/** Drawn above and below what is seen, so that a quick scroll shows no gap. */
const marginPx = 400

const heights: Readonly<Record<Line["kind"], readonly [row: number, card: number]>> = {
  entry: [32, 62],
  day: [30, 32],
  checkpoint: [26, 40],
  break: [44, 76],
}

export function createEntryTable({ hrefOf, open, older, again }: TableParts): EntryTable {
  const over = new AbortController()
  const header = elementOf(<th class="when wood wood-top" scope="col" />)
  const before = spacer()
  const after = spacer()
  const body = elementOf(<tbody />)
  const table = elementOf(
    <table class="entries">
      <caption class="unseen">Entries, newest first</caption>
      <Head>{header}</Head>
      {body}
    </table>,
  )
  let shown: Shown | undefined
  let hasCards = false
  let dayOf = rememberingDay()
  let lines: readonly Line[] = []
  /** Where each line begins, and where the last one ends. */
  let tops: readonly number[] = [0]
  const drawn = new Map<string, { readonly row: HTMLElement; readonly as: unknown }>()
  body.append(before.row, after.row)

  function draw(): void {
    if (shown === undefined) return
    const top = -body.getBoundingClientRect().top
    const first = lineAt(tops, top - marginPx)
    const last = Math.min(lineAt(tops, top + innerHeight + marginPx), lines.length - 1)
    const wanted = new Map(lines.slice(first, last + 1).map((line) => [keyOf(line), line] as const))
    for (const [key, { row }] of drawn)
      if (!wanted.has(key)) {
        row.remove()
        drawn.delete(key)
      }
    let place: Element = before.row
    for (const [key, line] of wanted) {
      const row = rowOf(key, line)
      if (place.nextElementSibling !== row) place.after(row)
      place = row
    }
    before.grow(tops[first] ?? 0)
    after.grow((tops.at(-1) ?? 0) - (tops[last + 1] ?? 0))
    const far = [...wanted.values()].find((line) => line.kind === "entry" && !line.row.entry)
    if (far?.kind === "entry") again(far.row.sequence)
    if (last >= lines.length - 1) older()
  }

  /** The row that is there, if it shows the same. */
  function rowOf(key: string, line: Line): HTMLElement {
    const known = drawn.get(key)
    const as = contentOf(line)
    if (known !== undefined && isSame(known.as, as)) return known.row
    const row = elementOf(drawLine(line))
    const hasFocus = known?.row.contains(document.activeElement) === true
    known?.row.replaceWith(row)
    drawn.set(key, { row, as })
    if (hasFocus) row.querySelector("a")?.focus({ preventScroll: true })
    return row
  }

  function contentOf(line: Line): readonly unknown[] {
    if (line.kind === "day") return [line.day, line.isFirst ? shown?.beside : undefined]
    if (line.kind === "checkpoint") return [shown?.checkpoint?.sequence]
    if (line.kind === "break") return []
    const { row, place, isShifted } = line
    const { sequence } = row
    const isOpen = sequence === shown?.open
    return [row, place, isShifted, isOpen, shown?.marked.has(sequence), isOpen && hrefOf(sequence)]
  }

  function drawLine(line: Line): Node {
    if (line.kind === "day")
      return <DayLine day={line.day} beside={line.isFirst ? shown?.beside : undefined} />
    if (line.kind === "break") return <BreakLine above={line.above} below={line.below} />
    if (line.kind === "checkpoint")
      return shown?.checkpoint ? <CheckpointLine of={shown.checkpoint} /> : <tr />
    const { row, place, isShifted } = line
    return (
      <EntryLine
        row={row}
        place={place + 1}
        isShifted={isShifted}
        isOpen={row.sequence === shown?.open}
        isMarked={shown?.marked.has(row.sequence) ?? false}
        href={hrefOf(row.sequence)}
      />
    )
  }

  /** The style decides it by the width of the table. */
  function isOfCards(): boolean {
    return getComputedStyle(table).display === "block"
  }

  function layOut(): void {
    const { rows = [], checkpoint } = shown ?? {}
    lines = linesOf(rows, checkpoint?.sequence ?? 0, dayOf)
    hasCards = isOfCards()
    let top = 0
    tops = [0, ...lines.map(({ kind }) => (top += heights[kind][hasCards ? 1 : 0]))]
  }

  function redraw(): void {
    for (const { row } of drawn.values()) row.remove()
    drawn.clear()
    dayOf = rememberingDay()
    header.textContent = `Time, ${zoneName(new Date())}`
    layOut()
    draw()
  }

  function bring(sequence: number | undefined): void {
    const at = lines.findIndex((line) => line.kind === "entry" && line.row.sequence === sequence)
    if (at < 0) return
    bringIntoView(body, tops[at] ?? 0, tops[at + 1] ?? 0)
    draw()
  }

  function focused(): number | undefined {
    const row = document.activeElement?.closest<HTMLElement>("tr[data-sequence]")
    return row && body.contains(row) ? Number(row.dataset["sequence"]) : undefined
  }

  let frame: number | undefined
  const drawSoon = (): void => {
    frame ??= requestAnimationFrame(() => {
      frame = undefined
      draw()
    })
  }
  addEventListener("scroll", drawSoon, { passive: true, signal: over.signal })
  addEventListener("resize", drawSoon, over)
  const resized = new ResizeObserver(() => {
    if (isOfCards() === hasCards) return
    layOut()
    draw()
    bring(focused() ?? shown?.open)
  })
  resized.observe(table)
  body.addEventListener("click", (event) => {
    const sequence = sequenceIn(event)
    if (sequence === undefined) return
    event.preventDefault()
    event.stopPropagation()
    open(sequence)
  })

  return {
    node: table,
    show(next) {
      const isOther = next.rows !== shown?.rows || next.checkpoint !== shown.checkpoint
      shown = next
      table.setAttribute("aria-rowcount", String(next.total + 1))
      if (header.textContent === "") header.textContent = `Time, ${zoneName(new Date())}`
      if (isOther) layOut()
      draw()
    },
    redraw,
    bring,
    focus(sequence) {
      drawn.get(`#${sequence}`)?.row.querySelector("a")?.focus({ preventScroll: true })
    },
    focused,
    close() {
      over.abort()
      resized.disconnect()
      if (frame !== undefined) cancelAnimationFrame(frame)
    },
  }
}

function Head({ children }: { readonly children?: Node }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {children}
        <th class="who" scope="col">
          Actor
        </th>
        <th class="act" scope="col">
          Action
        </th>
        <th class="tgt" scope="col">
          Target
        </th>
        <th class="lane" scope="col">
          Lane
        </th>
        <th class="seq" scope="col">
          #
        </th>
        <th class="chk" scope="col">
          <span class="unseen">State</span>
        </th>
      </tr>
    </thead>
  )
}

/** The day of a time; thousands of rows have few. Zones differ by quarters of an hour. */
function rememberingDay(): (time: string) => string {
  const quarterMs = 900_000
  const known = new Map<number, string>()
  // The year is said where it is not this one.
  const thisYear = new RegExp(` ${new Date().getFullYear()}$`)
  return (time) => {
    const quarter = Math.floor(Date.parse(time) / quarterMs)
    const day = known.get(quarter) ?? timeText(new Date(time), "day").replace(thisYear, "")
    known.set(quarter, day)
    return day
  }
}

/** Stands for lines that are not in the document. */
function spacer() {
  const cell = elementOf(<td colspan={7} class="wood" />)
  const row = elementOf(
    <tr class="spacer" aria-hidden="true">
      {cell}
    </tr>,
  )
  return {
    row,
    grow(px: number): void {
      row.hidden = px <= 0
      cell.style.height = `${px}px`
    },
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

/** The line at a height, by halving. */
function lineAt(tops: readonly number[], height: number): number {
  let low = 0
  let high = tops.length - 1
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if ((tops[middle] ?? 0) <= height) low = middle
    else high = middle
  }
  return low
}

function bringIntoView(body: Element, top: number, bottom: number): void {
  const from = body.getBoundingClientRect().top
  const headPx = 40
  if (from + top < headPx) scrollBy(0, from + top - headPx)
  else if (from + bottom > innerHeight) scrollBy(0, from + bottom - innerHeight + 8)
}

/** Of a plain click on a row. Who selects text, or opens another tab, opens nothing here. */
function sequenceIn(event: MouseEvent): number | undefined {
  const { target, button, ctrlKey, metaKey, shiftKey, altKey } = event
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return undefined
  if (!(target instanceof Element) || target.closest("button") !== null) return undefined
  if (getSelection()?.isCollapsed === false) return undefined
  const row = target.closest<HTMLElement>("tr[data-sequence]")
  return row === null ? undefined : Number(row.dataset["sequence"])
}
