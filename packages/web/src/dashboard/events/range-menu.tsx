import { elementOf, redraw } from "../../elements/elements.ts"
import { openForm } from "../../parts/dialog.tsx"
import { Field } from "../../parts/form.tsx"
import { Menu } from "../../parts/menu.tsx"
import { timeIn, timeInField, zoneHint } from "../../parts/time-field.ts"
import { timeText } from "../../parts/time.tsx"
import { usualSpan, type Range } from "./asked.ts"

const spans: readonly (readonly [since: string, name: string])[] = [
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["90d", "Last 90 days"],
  ["all", "All time"],
]

export function createRangeMenu(choose: (range: Range) => void) {
  const node = elementOf(<span class="range-menu" />)
  let shown: Range = { since: usualSpan }
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
      </Menu>,
    )
  draw()
  return {
    node,
    show(range: Range): void {
      shown = range
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
  openForm({
    title: "From … to …",
    action: "Show it",
    submit: async (values) => ({ ok: true, value: values }),
    done: (values) => choose({ from: timeIn(values, "from"), to: timeIn(values, "to") }),
    children: (
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
      </>
    ),
  })
}
