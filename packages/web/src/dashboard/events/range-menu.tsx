// The range of time, and the place where the list begins.

import { elementOf, redraw } from "../../elements/elements.ts"
import { openForm } from "../../parts/form-dialog.tsx"
import { Field } from "../../parts/form.tsx"
import { Menu } from "../../parts/menu.tsx"
import { thisMinute, timeIn, timeInField, zoneHint } from "../../parts/time-field.ts"
import { timeText } from "../../parts/time.tsx"
import { usualSpan, type Asked, type Range } from "./asked.ts"

const spans: readonly (readonly [since: string, name: string])[] = [
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["90d", "Last 90 days"],
  ["all", "All time"],
]

interface RangeParts {
  readonly choose: (range: Range) => void
  /** Jumps to a time within the list. */
  readonly jump: (at: string) => void
}

export function createRangeMenu({ choose, jump }: RangeParts) {
  const node = elementOf(<span class="range-menu" />)
  let shown: Range = { since: usualSpan }
  let at: string | undefined
  const draw = (): void =>
    redraw(
      node,
      <Menu id="range" label={rangeText(shown)} buttonClass="button">
        {spans.map(([since, name]) => (
          <button
            type="button"
            aria-current={"since" in shown && shown.since === since ? "true" : undefined}
            onClick={() => choose({ since })}
          >
            {name}
          </button>
        ))}
        <button type="button" class="apart" onClick={() => openCustom(shown, choose)}>
          From … to …
        </button>
        <button type="button" onClick={() => openJump(at, jump)}>
          Jump to a time …
        </button>
      </Menu>,
    )
  draw()
  return {
    node,
    show(asked: Pick<Asked, "range" | "at">): void {
      shown = asked.range
      at = asked.at
      draw()
    },
    open(): void {
      node.querySelector("button")?.click()
      document.querySelector<HTMLElement>("#range button")?.focus()
    },
  }
}

function rangeText(range: Range): string {
  if ("since" in range)
    return spans.find(([since]) => since === range.since)?.[1] ?? `Last ${range.since}`
  const { from, to } = range
  const text = (time: string): string => timeText(new Date(time), "minute")
  if (from === undefined) return to === undefined ? "All time" : `Until ${text(to)}`
  return to === undefined ? `Since ${text(from)}` : `${text(from)} – ${text(to)}`
}

function openCustom(range: Range, choose: (range: Range) => void): void {
  const { from, to } = "since" in range ? { from: undefined, to: undefined } : range
  openTimes(
    "From … to …",
    <>
      <Field name="from" label="From" type="datetime-local" optional value={timeInField(from)} />
      <Field
        name="to"
        label="Until before"
        type="datetime-local"
        optional
        value={timeInField(to)}
        hint={zoneHint()}
      />
    </>,
    (values) => choose({ from: timeIn(values, "from"), to: timeIn(values, "to") }),
  )
}

/** The range does not change. */
function openJump(at: string | undefined, jump: (at: string) => void): void {
  openTimes(
    "Jump to a time",
    <Field
      name="at"
      label="The list begins with what occurred before"
      type="datetime-local"
      value={timeInField(at ?? thisMinute().toISOString())}
      hint={zoneHint()}
    />,
    (values) => {
      const chosen = timeIn(values, "at")
      if (chosen !== undefined) jump(chosen)
    },
  )
}

function openTimes(title: string, fields: Node, show: (values: FormData) => void): void {
  openForm({
    title,
    action: "Show it",
    submit: async (values) => ({ ok: true, value: values }),
    done: show,
    children: fields,
  })
}
