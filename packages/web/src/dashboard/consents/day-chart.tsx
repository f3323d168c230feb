// Consents by day: a bar upwards for those given, and downwards for those withdrawn.

import type { DayConsents } from "@tallystick/client/wire"
import { number } from "../../parts/counted.ts"
import { Fold } from "../../parts/fold.tsx"
import { Table } from "../../parts/table.tsx"
import { dayMs } from "../../parts/spans.ts"

/** With more bars than this, one bar is a month. */
const daysMax = 120

export function DayChart({ of: days }: { readonly of: readonly DayConsents[] }) {
  const spans = spansOf(days)
  return (
    <>
      {spans.length > 1 && <Bars spans={spans} />}
      <Fold id="consents-by-day" open={days.length <= 7} title="By day" beside="of UTC">
        <Table
          columns={[
            { name: "Day", isPlain: true, draw: ({ day }) => day },
            { name: "Given", draw: ({ given }) => number(given) },
            { name: "Withdrawn", draw: ({ withdrawn }) => number(withdrawn) },
          ]}
          items={days.toReversed()}
        />
      </Fold>
    </>
  )
}

/** Every day or month from the first to the last, also those without any. */
function spansOf(days: readonly DayConsents[]): readonly DayConsents[] {
  const times = days.map(({ day }) => Date.parse(day))
  const [first = 0, last = first] = [times[0], times.at(-1)]
  const count = (last - first) / dayMs + 1
  const length = count > daysMax ? "2026-01".length : "2026-01-31".length
  const spans = new Map<string, DayConsents>()
  for (let at = 0; at < count; at++) {
    const day = new Date(first + at * dayMs).toISOString().slice(0, length)
    spans.set(day, { day, given: 0, withdrawn: 0 })
  }
  for (const { day: whole, given, withdrawn } of days) {
    const day = whole.slice(0, length)
    const sum = spans.get(day) ?? { given: 0, withdrawn: 0 }
    spans.set(day, { day, given: sum.given + given, withdrawn: sum.withdrawn + withdrawn })
  }
  return [...spans.values()]
}

const [height, width] = [36, 10]

function Bars({ spans }: { readonly spans: readonly DayConsents[] }) {
  const up = Math.max(...spans.map(({ given }) => given))
  const down = Math.max(...spans.map(({ withdrawn }) => withdrawn))
  const unit = height / Math.max(up + down, 1)
  const [first, last] = [spans[0]?.day ?? "", spans.at(-1)?.day ?? ""]
  return (
    <>
      <svg
        class="consent-days"
        viewBox={`0 0 ${spans.length * width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`From ${first} to ${last}: at most ${up} given and ${down} withdrawn in one ${first.length > 7 ? "day" : "month"}`}
      >
        {spans.map(({ given, withdrawn }, at) => (
          <>
            <rect
              class="given"
              x={at * width + 1}
              width={width - 2}
              y={(up - given) * unit}
              height={given * unit}
            />
            <rect
              class="withdrawn"
              x={at * width + 1}
              width={width - 2}
              y={up * unit}
              height={withdrawn * unit}
            />
          </>
        ))}
      </svg>
      <p class="consent-ends small quiet">
        <span>{first}</span>
        <span class="consent-key">
          <span class="given">above: given</span> <span class="withdrawn">below: withdrawn</span>
        </span>
        <span>{last}</span>
      </p>
    </>
  )
}
