// How many entries occurred when, by lane. Arrows move, Shift and arrows select, Enter zooms in.

import type { Timeline } from "@tallystick/client/wire"
import { redraw } from "../../elements/redraw.ts"
import { counted } from "../../parts/counted.ts"
import { openDialog } from "../../parts/dialog.tsx"
import { RefusedLine } from "../../parts/form.tsx"
import { elementOf } from "../../parts/page.tsx"
import { isUtc, timeText } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import type { Query } from "../place.ts"
import { ticksOf } from "./timeline-ticks.ts"
import { timelineOf } from "./whole-timeline.ts"

interface TimelineParts {
  readonly zoom: (from: string, to: string) => void
  /** Back to what was shown before the zoom. */
  readonly undo: () => void
}

export interface TimelineView {
  readonly node: HTMLElement
  /** Shows what a filter finds. Only the newest that was asked for is shown. */
  load(desk: Desk, filter: Query, now: Date): Promise<void>
  redraw(): void
  openTable(): void
}

/** Security lies on the base line, where its changes can be read. */
const lanes = ["security", "policy", "data", "operations"] as const
const height = 64
const width = 10

export function createTimeline({ zoom, undo }: TimelineParts): TimelineView {
  const plot = elementOf(
    <div
      id="timeline"
      class="plot"
      role="slider"
      tabIndex={0}
      aria-label={howTo}
      aria-valuemin={0}
    />,
  )
  const axis = elementOf(<ol class="axis" aria-hidden="true" />)
  const readout = elementOf(<p class="readout" aria-hidden="true" />)
  const node = elementOf(
    <div class="timeline">
      {plot}
      {axis}
      {readout}
    </div>,
  )
  const chosen = elementOf(<div class="chosen" hidden />)
  let shown: Timeline | undefined
  let asked: Query | undefined
  /** The bucket under the keyboard, and the other end of what is selected. */
  let at = 0
  let anchor = 0

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
    at = anchor = Math.min(at, Math.max(0, shown.buckets.length - 1))
    redraw(node, plot, axis, readout)
    plot.replaceChildren(<Bars of={shown} />, chosen)
    plot.setAttribute("aria-valuemax", String(Math.max(0, shown.buckets.length - 1)))
    drawAxis()
    say()
  }

  function drawAxis(): void {
    if (shown === undefined) return
    const [from, to] = endsOf(shown)
    const zoneMs = isUtc() ? 0 : -new Date(from).getTimezoneOffset() * 60_000
    axis.replaceChildren(
      ...ticksOf(from, to, zoneMs).map((tick) => {
        const mark = elementOf(
          <li>{timeText(new Date(tick.at), tick.isDay ? "weekday" : "clock")}</li>,
        )
        mark.style.left = `${((tick.at - from) / (to - from)) * 100}%`
        return mark
      }),
    )
  }

  function say(bucket = at): void {
    const text = shown === undefined ? "" : bucketText(shown, bucket)
    readout.textContent = text
    plot.setAttribute("aria-valuenow", String(at))
    const [first, last] = [Math.min(at, anchor), Math.max(at, anchor)]
    const selected = first === last ? text : `${last - first + 1} selected, to ${text}`
    plot.setAttribute("aria-valuetext", selected)
    const count = shown?.buckets.length ?? 1
    chosen.hidden = document.activeElement !== plot && first === last
    chosen.style.left = `${(first / count) * 100}%`
    chosen.style.width = `${((last - first + 1) / count) * 100}%`
  }

  function move(to: number, isSelecting: boolean): void {
    at = Math.max(0, Math.min(to, (shown?.buckets.length ?? 1) - 1))
    if (!isSelecting) anchor = at
    say()
  }

  function zoomIn(): void {
    if (shown === undefined) return
    const [first, last] = [Math.min(at, anchor), Math.max(at, anchor)]
    const from = startOf(shown, first)
    zoom(new Date(from).toISOString(), new Date(startOf(shown, last + 1)).toISOString())
    anchor = at
  }

  plot.addEventListener("keydown", (event) => {
    const { key, shiftKey } = event
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: Infinity,
    }
    const to = steps[key]
    if (to !== undefined) move(to, shiftKey)
    else if (key === "Enter") zoomIn()
    else if (key === "Escape" && at !== anchor) move(at, false)
    else if (key === "Escape") undo()
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  const bucketAt = ({ clientX }: PointerEvent): number => {
    const { left, width: whole } = plot.getBoundingClientRect()
    const count = shown?.buckets.length ?? 1
    return Math.max(0, Math.min(Math.floor(((clientX - left) / whole) * count), count - 1))
  }
  plot.addEventListener("pointerdown", (event) => {
    plot.setPointerCapture(event.pointerId)
    move(bucketAt(event), event.shiftKey)
  })
  plot.addEventListener("pointermove", (event) => {
    if (plot.hasPointerCapture(event.pointerId)) move(bucketAt(event), true)
    else say(bucketAt(event))
  })
  plot.addEventListener("pointerup", () => at !== anchor && zoomIn())
  plot.addEventListener("pointerleave", () => say())
  plot.addEventListener("focus", () => say())
  plot.addEventListener("blur", () => say())
  return {
    node,
    load,
    redraw: drawAxis,
    openTable: () => shown && openTable(shown),
  }
}

const howTo =
  "Entries over time. Arrows move, Shift and arrows select, Enter shows that time alone, Escape goes back"

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
          // What is there is seen, however little it is.
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

function startOf({ from, bucketSeconds }: Timeline, place: number): number {
  return Date.parse(from) + place * bucketSeconds * 1000
}

function endsOf(timeline: Timeline): readonly [from: number, to: number] {
  return [startOf(timeline, 0), startOf(timeline, timeline.buckets.length)]
}

/** `Mon 9 Nov, 14:00 – 15:00: 120 entries, 40 security, 80 operations` */
function bucketText(timeline: Timeline, place: number): string {
  const bucket = timeline.buckets[place]
  if (bucket === undefined) return "Nothing occurred"
  const counts = lanes.flatMap((lane) => {
    const count = bucket.counts[lane] ?? 0
    return count === 0 ? [] : [`${count.toLocaleString("en-GB")} ${lane}`]
  })
  return `${spanOf(timeline, place)}: ${[counted(bucket.total, "entry", "entries"), ...counts].join(", ")}`
}

function spanOf(timeline: Timeline, place: number): string {
  const from = timeText(new Date(startOf(timeline, place)), "minute")
  const to = timeText(new Date(startOf(timeline, place + 1)), "minute")
  const [day, clock] = to.split(", ")
  return `${from} – ${from.startsWith(`${day},`) ? clock : to}`
}

function openTable(timeline: Timeline): void {
  const some = timeline.buckets
    .map((bucket, place) => ({ bucket, place }))
    .filter(({ bucket }) => bucket.total > 0)
  openDialog("Entries over time", () => (
    <div class="numbers" tabIndex={0} role="region" aria-label="Numbers">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">From – until</th>
            {lanes.map((lane) => (
              <th scope="col" class="end">
                {lane}
              </th>
            ))}
            <th scope="col" class="end">
              all
            </th>
          </tr>
        </thead>
        <tbody>
          {some.map(({ bucket: { total, counts }, place }) => (
            <tr>
              <td>{spanOf(timeline, place)}</td>
              {lanes.map((lane) => (
                <td class="end">{(counts[lane] ?? 0).toLocaleString("en-GB")}</td>
              ))}
              <td class="end">{total.toLocaleString("en-GB")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  ))
}
