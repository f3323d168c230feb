// How many entries occurred when, by lane. Arrows move, Shift and arrows select, Enter or a drag zooms
// in.

import type { Timeline } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { RefusedLine } from "../../parts/form.tsx"
import { isUtc, timeText } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import type { Query } from "../place.ts"
import { lanes } from "./asked.ts"
import { choosing, type Chosen } from "./timeline-choice.ts"
import { bucketText, endsOf, startOf } from "./timeline-spans.ts"
import { openTimelineTable } from "./timeline-table.tsx"
import { ticksOf } from "./timeline-ticks.ts"
import { timelineOf } from "./whole-timeline.ts"

interface TimelineParts {
  readonly zoom: (from: string, to: string) => void
  readonly undo: () => void
}

const height = 64
const width = 10

/** A slider, which must have a position even before there are counts. */
function createPlot(): HTMLElement {
  return elementOf(
    <div
      id="timeline"
      class="plot"
      role="slider"
      tabIndex={0}
      aria-label={howTo}
      aria-valuemin={0}
      aria-valuenow={0}
    />,
  )
}

export function createTimeline({ zoom, undo }: TimelineParts) {
  const plot = createPlot()
  const axis = elementOf(<ol class="axis" aria-hidden="true" />)
  const readout = elementOf(<p class="readout" aria-hidden="true" />)
  const node = elementOf(
    <div class="timeline">
      {plot}
      {axis}
      {readout}
    </div>,
  )
  const selection = elementOf(<div class="chosen" hidden />)
  let shown: Timeline | undefined
  let asked: Query | undefined
  const timeOf = (bucket: number): string =>
    new Date(shown === undefined ? 0 : startOf(shown, bucket)).toISOString()
  const choice = choosing({
    plot,
    count: () => shown?.buckets.length ?? 0,
    say,
    zoom: (first, last) => shown && zoom(timeOf(first), timeOf(last + 1)),
    undo,
  })

  /** Shows the matches of a filter. Only the last request is shown. */
  async function load(desk: Desk, filter: Query, now: Date): Promise<void> {
    asked = filter
    const told = await timelineOf(desk, filter, innerWidth < 640 ? 42 : 84, now)
    if (asked !== filter) return
    if (told.ok) return show(told.value)
    const again = (): void => void load(desk, filter, now)
    redraw(node, <RefusedLine refusal={told.refusal} retry={again} />)
  }

  function show(timeline: Timeline): void {
    shown = timeline
    redraw(node, plot, axis, readout)
    plot.replaceChildren(<Bars of={shown} />, selection)
    plot.setAttribute("aria-valuemax", String(Math.max(0, shown.buckets.length - 1)))
    drawAxis(axis, shown)
    choice.begin()
  }

  function say({ at, first, last, pointed = at }: Chosen): void {
    readout.textContent = shown === undefined ? "" : bucketText(shown, pointed)
    const text = shown === undefined ? "" : bucketText(shown, at)
    plot.setAttribute("aria-valuenow", String(at))
    const selected = first === last ? text : `${last - first + 1} selected, to ${text}`
    plot.setAttribute("aria-valuetext", selected)
    const count = shown?.buckets.length ?? 1
    selection.hidden = document.activeElement !== plot && first === last
    selection.style.left = `${(first / count) * 100}%`
    selection.style.width = `${((last - first + 1) / count) * 100}%`
  }

  return {
    node,
    load,
    redraw: () => shown && drawAxis(axis, shown),
    openTable: () => shown && openTimelineTable(shown),
  }
}

const howTo =
  "Entries over time. Arrows move, Shift and arrows select, Enter shows that time alone, Escape goes back"

function drawAxis(axis: Element, timeline: Timeline): void {
  const [from, to] = endsOf(timeline)
  const zoneMs = (at: number): number => (isUtc() ? 0 : -new Date(at).getTimezoneOffset() * 60_000)
  axis.replaceChildren(
    ...ticksOf(from, to, zoneMs).map((tick) => {
      const mark = elementOf(<li>{timeText(new Date(tick.at), tick.form)}</li>)
      mark.style.left = `${((tick.at - from) / (to - from)) * 100}%`
      return mark
    }),
  )
}

function Bars({ of: { buckets } }: { readonly of: Timeline }) {
  const most = Math.max(1, ...buckets.map(({ total }) => total))
  return (
    <svg
      viewBox={`0 0 ${buckets.length * width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {buckets.map(({ counts }, place) => {
        let base = height
        return lanes.map((lane) => {
          const tall = ((counts[lane] ?? 0) / most) * height
          if (tall === 0) return undefined
          // A bucket with few entries still gets a visible bar.
          const drawn = Math.max(tall, 1)
          base -= drawn
          return (
            <rect
              class={`lane-${lane}`}
              x={place * width + 1}
              y={base.toFixed(2)}
              width={width - 2}
              height={drawn.toFixed(2)}
            />
          )
        })
      })}
    </svg>
  )
}
