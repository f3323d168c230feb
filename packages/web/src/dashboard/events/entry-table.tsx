// The table of entries. Of thousands of lines, only the visible ones are in the document, and all
// that are loaded when it is printed.

import type { ListedEntry } from "@tallystick/client/wire"
import { elementOf } from "../../elements/elements.ts"
import { zoneName } from "../../parts/time.tsx"
import { createDrawnLines, type Shown } from "./drawn-lines.tsx"
import {
  lineAt,
  lineOf,
  noLines,
  placeLines,
  rememberingDay,
  type LinePlaces,
} from "./line-places.ts"
import type { Rows } from "./rows.ts"
import { showRowTerms } from "./term-buttons.tsx"

interface TableParts {
  readonly hrefOf: (sequence: number) => string
  readonly open: (sequence: number) => void
  /** More are loaded when the reader has scrolled near the end, or where entries are not in memory. */
  readonly rows: () => Rows | undefined
  /** Adds a term to the search of the page, if it has one. */
  readonly find?: (term: string) => void
}

export type EntryTable = ReturnType<typeof createEntryTable>

/** Lines above and below the visible ones, so that a quick scroll shows no gap. */
const marginPx = 400

export function createEntryTable({ hrefOf, open, rows, find }: TableParts) {
  const over = new AbortController()
  const { table, header, body, before, after } = createFrame()
  const drawn = createDrawnLines(hrefOf)
  let shown: Shown | undefined
  let places = noLines
  let dayOf = rememberingDay()

  function draw(): void {
    if (shown === undefined) return
    const { lines, tops } = places
    const [first, last] = isPrinted() ? [0, lines.length - 1] : visibleLines(places, body)
    const seen = lines.slice(first, last + 1)
    drawn.show(seen, before.row, shown)
    before.grow(tops[first] ?? 0)
    after.grow((tops.at(-1) ?? 0) - (tops[last + 1] ?? 0))
    const far = seen.find((line) => line.kind === "entry" && !line.row.entry)
    if (isPrinted()) return
    const all = rows()
    if (far?.kind === "entry") void all?.again(far.row.sequence)
    if (last >= lines.length - 1 && all?.hasMore && !all.refusal) void all.older()
  }

  function layOut(): void {
    if (shown !== undefined) places = placeLines(shown, isOfCards(table), dayOf)
  }

  /** The zone for times has changed. */
  function redraw(): void {
    drawn.clear()
    dayOf = rememberingDay()
    header.textContent = `Time, ${zoneName(new Date())}`
    layOut()
    draw()
  }

  function bring(sequence: number | undefined): void {
    const at = lineOf(places, sequence)
    if (at < 0) return
    bringIntoView(body, places.tops[at] ?? 0, places.tops[at + 1] ?? 0)
    draw()
  }

  function focused(): number | undefined {
    const row = document.activeElement?.closest<HTMLElement>("tr[data-sequence]")
    return row && body.contains(row) ? Number(row.dataset["sequence"]) : undefined
  }

  const entryOf = (sequence: number): ListedEntry | undefined =>
    shown?.rows.find((row) => row.sequence === sequence)?.entry
  if (find !== undefined) showRowTerms({ body, entryOf, find })
  openOnClick(body, open)
  const stop = drawWhenMoved(draw, over.signal)
  const isPrinted = drawWhenPrinted(draw, over.signal)
  const resized = new ResizeObserver(() => {
    if (isOfCards(table) === places.areCards) return
    layOut()
    draw()
    bring(focused() ?? shown?.open)
  })
  resized.observe(table)

  return {
    node: table,
    show(next: Shown): void {
      const isOther = next.rows !== shown?.rows || next.checkpoint !== shown.checkpoint
      const hadFocus = focused() !== undefined
      shown = next
      const count = next.total === undefined ? -1 : next.total + 1
      table.setAttribute("aria-rowcount", String(count))
      if (header.textContent === "") header.textContent = `Time, ${zoneName(new Date())}`
      if (isOther) layOut()
      draw()
      // The focused row is no longer in the list.
      if (hadFocus && focused() === undefined)
        body.querySelector<HTMLElement>("tr[data-sequence] a")?.focus({ preventScroll: true })
    },
    redraw,
    bring,
    /** Focuses a row that is in view. */
    focus: (sequence: number) => drawn.linkOf(sequence)?.focus({ preventScroll: true }),
    focused,
    close(): void {
      over.abort()
      resized.disconnect()
      stop()
    },
  }
}

function createFrame() {
  const header = elementOf(<th class="when wood wood-top" scope="col" />)
  const [before, after] = [spacer(), spacer()]
  const body = elementOf(
    <tbody>
      {before.row}
      {after.row}
    </tbody>,
  )
  const table = elementOf(
    <table class="entries">
      <caption class="unseen">Entries, newest first</caption>
      <Head>{header}</Head>
      {body}
    </table>,
  )
  return { table, header, body, before, after }
}

function visibleLines(places: LinePlaces, body: Element): [first: number, last: number] {
  const top = -body.getBoundingClientRect().top
  const last = lineAt(places, top + innerHeight + marginPx)
  return [lineAt(places, top - marginPx), Math.min(last, places.lines.length - 1)]
}

/** The style sheet decides this by the width of the table. */
function isOfCards(table: Element): boolean {
  return getComputedStyle(table).display === "block"
}

/** Calls at most once a frame. Returns a function that cancels a pending call. */
function drawWhenMoved(draw: () => void, signal: AbortSignal): () => void {
  let frame: number | undefined
  const drawSoon = (): void => {
    frame ??= requestAnimationFrame(() => {
      frame = undefined
      draw()
    })
  }
  addEventListener("scroll", drawSoon, { passive: true, signal })
  addEventListener("resize", drawSoon, { signal })
  return () => {
    if (frame !== undefined) cancelAnimationFrame(frame)
  }
}

/** Draws before and after a print. Returns whether it is being printed. */
function drawWhenPrinted(draw: () => void, signal: AbortSignal): () => boolean {
  let isPrinted = false
  for (const name of ["beforeprint", "afterprint"])
    addEventListener(
      name,
      () => {
        isPrinted = name === "beforeprint"
        draw()
      },
      { signal },
    )
  return () => isPrinted
}

function openOnClick(body: HTMLElement, open: (sequence: number) => void): void {
  body.addEventListener("click", (event) => {
    const sequence = sequenceIn(event)
    if (sequence === undefined) return
    event.preventDefault()
    event.stopPropagation()
    open(sequence)
  })
}

const columns = [
  ["who", "Actor"],
  ["act", "Action"],
  ["tgt", "Target"],
  ["lane", "Lane"],
  ["seq", "#"],
] as const

function Head({ children }: { readonly children?: Node }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {children}
        {columns.map(([name, title]) => (
          <th class={name} scope="col">
            {title}
          </th>
        ))}
        <th class="chk" scope="col">
          <span class="unseen">State</span>
        </th>
      </tr>
    </thead>
  )
}

/** A spacer for lines that are not in the document. */
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

function bringIntoView(body: Element, top: number, bottom: number): void {
  const from = body.getBoundingClientRect().top
  const headPx = 40
  if (from + top < headPx) scrollBy(0, from + top - headPx)
  else if (from + bottom > innerHeight) scrollBy(0, from + bottom - innerHeight + 8)
}

/** Whether it is a plain click on a row, and not a selection of text or a click for another tab. */
function sequenceIn(event: MouseEvent): number | undefined {
  const { target, button, ctrlKey, metaKey, shiftKey, altKey } = event
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return undefined
  if (!(target instanceof Element) || target.closest("button") !== null) return undefined
  if (getSelection()?.isCollapsed === false) return undefined
  const row = target.closest<HTMLElement>("tr[data-sequence]")
  return row === null ? undefined : Number(row.dataset["sequence"])
}
