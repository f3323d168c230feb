// Times: in the reader's zone, or in UTC, for all of a page at once. The zone is always named.

import { keep } from "../kept.ts"

const zone = keep<"local" | "utc">(
  "zone",
  (text) => (text === "utc" ? "utc" : "local"),
  (value) => value,
)

const second = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const
const day = { day: "numeric", month: "long", year: "numeric" } as const
const clock = { hour: "2-digit", minute: "2-digit" } as const
const forms = {
  /** `12 November 2026, 14:02:11 CET` */
  whole: [day, { ...second, timeZoneName: "short" }],
  /** `12 Nov 2026, 14:02:11.204 CET` */
  exact: [
    { ...day, month: "short" },
    { ...second, fractionalSecondDigits: 3, timeZoneName: "short" },
  ],
  /** `14:02:11` */
  second: [second],
  /** `12 Nov, 14:02` */
  minute: [{ day: "numeric", month: "short" }, clock],
  /** `Thu 12 Nov` */
  weekday: [{ weekday: "short", day: "numeric", month: "short" }],
  /** `14:02 CET` */
  zone: [{ ...clock, timeZoneName: "short" }],
  /** `14:02` */
  clock: [clock],
  /** `12 November 2026` */
  date: [day],
  /** `Thursday 12 November 2026` */
  day: [{ ...day, weekday: "long" }],
} as const satisfies Readonly<Record<string, readonly Intl.DateTimeFormatOptions[]>>

export type TimeForm = keyof typeof forms

export function Time({ at, form = "whole" }: { readonly at: string; readonly form?: TimeForm }) {
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) return <>{at}</>
  const iso = time.toISOString()
  return (
    <time dateTime={iso} title={iso} data-form={form}>
      {timeText(time, form)}
    </time>
  )
}

export function timeText(time: Date, form: TimeForm): string {
  return formatters(form)
    .map((each) => each.format(time))
    .join(", ")
}

/** To make a formatter takes as long as to use it a hundred times. */
function formatters(form: TimeForm): readonly Intl.DateTimeFormat[] {
  const zoneName = zone.get()
  const key = `${form} ${zoneName}`
  const timeZone = zoneName === "utc" ? { timeZone: "UTC" } : {}
  const made =
    kept.get(key) ??
    forms[form].map((options) => new Intl.DateTimeFormat("en-GB", { ...options, ...timeZone }))
  kept.set(key, made)
  return made
}

const kept = new Map<string, readonly Intl.DateTimeFormat[]>()

export function isUtc(): boolean {
  return zone.get() === "utc"
}

/** `CET`, at that time. */
export function zoneName(time: Date): string {
  return timeText(time, "zone").split(" ").at(-1) ?? ""
}

export const watchZone = (changed: () => void): (() => void) => zone.watch(changed)

/** `changed` is called for what depends on the zone and is no time by itself, such as a day. */
export function ZoneToggle({ changed }: { readonly changed?: (() => void) | undefined }) {
  const button = (
    <button type="button" class="zone" aria-pressed={zone.get() === "utc"} onClick={turn}>
      <span class="unseen">All times in </span>UTC
    </button>
  )
  function turn(): void {
    zone.set(zone.get() === "utc" ? "local" : "utc")
  }
  zone.watch(() => {
    if (button instanceof Element) button.setAttribute("aria-pressed", String(zone.get() === "utc"))
    for (const time of document.querySelectorAll("time"))
      time.textContent = timeText(new Date(time.dateTime), formOf(time.dataset["form"]))
    changed?.()
  })
  return button
}

function formOf(name = ""): TimeForm {
  return Object.hasOwn(forms, name) ? (name as TimeForm) : "whole" // one of them, as just seen
}
