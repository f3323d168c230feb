import { Time } from "./time.tsx"

const units = [
  ["year", 365 * 86_400_000],
  ["month", 30 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
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
