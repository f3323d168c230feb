// A time as text, in a given zone and language.

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
  /** `12 Nov 2026` */
  short: [{ ...day, month: "short" }],
  /** `12 November 2026` */
  date: [day],
  /** `Thursday 12 November 2026` */
  day: [{ ...day, weekday: "long" }],
} as const satisfies Readonly<Record<string, readonly Intl.DateTimeFormatOptions[]>>

export type TimeForm = keyof typeof forms
export type TimeText = (time: Date, form: TimeForm) => string

/** In the zone of the browser, unless one is named. */
export function formatTime(time: Date, form: TimeForm, locale: string, timeZone?: string): string {
  return formatters(form, locale, timeZone)
    .map((each) => each.format(time))
    .join(", ")
}

/** Cached, because making a formatter takes as long as a hundred uses. */
function formatters(
  form: TimeForm,
  locale: string,
  timeZone: string | undefined,
): readonly Intl.DateTimeFormat[] {
  const key = `${form} ${locale} ${timeZone}`
  const made =
    kept.get(key) ??
    forms[form].map((options) => new Intl.DateTimeFormat(locale, { ...options, timeZone }))
  kept.set(key, made)
  return made
}

const kept = new Map<string, readonly Intl.DateTimeFormat[]>()

interface TimeElementProps {
  readonly at: string
  readonly form?: TimeForm
  readonly text: TimeText
}

export function TimeElement({ at, form = "whole", text }: TimeElementProps) {
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) return <>{at}</>
  const iso = time.toISOString()
  return (
    <time dateTime={iso} title={iso} data-form={form}>
      {text(time, form)}
    </time>
  )
}

export function formOf(name = ""): TimeForm {
  return Object.hasOwn(forms, name) ? (name as TimeForm) : "whole" // one of them, as just seen
}
