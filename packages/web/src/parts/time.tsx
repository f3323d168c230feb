// Times, in the reader's zone or in UTC for the whole page. The zone is always named.

import { elementOf } from "../elements/elements.ts"
import { keepText } from "../kept.ts"
import { dayMs, hourMs, minuteMs } from "./spans.ts"
import { formatTime, formOf, TimeElement, type TimeForm, type TimeText } from "./time-element.tsx"

/** `utc`, or anything else for the zone of the reader. */
const zone = keepText("zone")

export function Time({ at, form = "whole" }: { readonly at: string; readonly form?: TimeForm }) {
  return <TimeElement at={at} form={form} text={timeText} />
}

export const timeText: TimeText = (time, form) =>
  formatTime(time, form, "en-GB", isUtc() ? "UTC" : undefined)

export function isUtc(): boolean {
  return zone.get() === "utc"
}

/** Midnight before a time. */
export function dayStart(time: Date): Date {
  const start = new Date(time)
  if (isUtc()) start.setUTCHours(0, 0, 0, 0)
  else start.setHours(0, 0, 0, 0)
  return start
}

export function isToday(time: string): boolean {
  return dayStart(new Date(time)).getTime() === dayStart(new Date()).getTime()
}

/** `CET`, at that time. */
export function zoneName(time: Date): string {
  return timeText(time, "zone").split(" ").at(-1) ?? ""
}

export const watchZone = (changed: () => void): (() => void) => zone.watch(changed)

/** Calls `changed` for content that depends on the zone but is no time element, such as a day. */
export function ZoneToggle({ changed }: { readonly changed?: (() => void) | undefined }) {
  const turn = (): void => zone.set(isUtc() ? "local" : "utc")
  const button = elementOf(
    <button type="button" class="zone" aria-pressed={isUtc()} onClick={turn}>
      <span class="unseen">All times in </span>UTC
    </button>,
  )
  zone.watch(() => {
    button.ariaPressed = String(isUtc())
    for (const time of document.querySelectorAll("time"))
      time.textContent = timeText(new Date(time.dateTime), formOf(time.dataset["form"]))
    changed?.()
  })
  return button
}

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

const units = [
  ["year", 365 * dayMs],
  ["month", 30 * dayMs],
  ["day", dayMs],
  ["hour", hourMs],
  ["minute", minuteMs],
] as const
