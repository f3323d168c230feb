import { dayMs, hourMs, minuteMs } from "./spans.ts"
import { Time } from "./time.tsx"

const units = [
  ["year", 365 * dayMs],
  ["month", 30 * dayMs],
  ["day", dayMs],
  ["hour", hourMs],
  ["minute", minuteMs],
] as const

/** The date, followed by how long ago it was. */
export function Ago({ at }: { readonly at: string }) {
  return (
    <span>
      <Time at={at} form="date" /> <span class="quiet">{agoText(Date.now() - Date.parse(at))}</span>
    </span>
  )
}

function agoText(ms: number): string {
  const [unit, length] = units.find(([, each]) => Math.abs(ms) >= each) ?? ["second", 1000]
  const words = new Intl.RelativeTimeFormat("en-GB", { numeric: "auto" })
  return unit === "second" ? "just now" : words.format(-Math.trunc(ms / length), unit)
}
