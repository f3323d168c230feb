interface Times {
  readonly occurredAt: string
  readonly receivedAt?: string | null | undefined
  /** When it was recorded. */
  readonly timestamp: string
}

/** `client clock differs by 3 h`, or undefined. */
export function clockApart({ occurredAt, receivedAt, timestamp }: Times): string | undefined {
  const apart = Math.abs(Date.parse(occurredAt) - Date.parse(receivedAt ?? timestamp))
  return apart > 60_000 ? `client clock differs by ${spanText(apart)}` : undefined
}

function spanText(ms: number): string {
  const minutes = ms / 60_000
  if (minutes < 90) return `${Math.round(minutes)} min`
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h`
  return `${Math.round(minutes / 1440).toLocaleString("en-GB")} d`
}
