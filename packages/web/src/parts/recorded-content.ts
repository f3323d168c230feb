// The recorded content of an event, read from the hashed body.

export interface RecordedContent {
  readonly actor: Members
  readonly target: Members
  readonly action?: string
  readonly lane?: string
  readonly projectId?: string
  readonly occurredAt?: string
  readonly receivedAt?: string
  readonly source?: string
  readonly kind?: string
  readonly metadata: Members
  /** The number of sealed fields that were withheld from this reader. */
  readonly withheld: number
}

export type Members = Readonly<Record<string, unknown>>

interface Beside {
  readonly kind?: string | undefined
  readonly withheld?: number | undefined
}

/** `shown`: members of the answer that are not in the body. */
export function recordedContent(
  body: Members,
  { kind, withheld = 0 }: Beside,
  shown: readonly Members[] = [],
): RecordedContent {
  const sources = [body, ...shown]
  const found = Object.fromEntries(
    ["action", "lane", "projectId", "occurredAt", "receivedAt", "source"].flatMap((name) => {
      const value = valueIn(sources, name)
      return typeof value === "string" ? [[name, value]] : []
    }),
  )
  const shownKind = kind ?? valueIn(shown, "kind")
  return {
    ...found,
    ...(typeof shownKind === "string" && { kind: shownKind }),
    actor: partyOf(body["actor"], valueIn(shown, "actor")),
    target: partyOf(body["target"], valueIn(shown, "target")),
    metadata: membersOf(body["metadata"]) ?? {},
    withheld,
  }
}

function valueIn(sources: readonly Members[], name: string): unknown {
  return sources
    .map((source) => source[name])
    .find((value) => value !== undefined && value !== null)
}

/** With the mask of a withheld e-mail. No hash covers a mask, and the page says so. */
function partyOf(hashed: unknown, shown: unknown): Members {
  const { other, ...party } = membersOf(hashed) ?? {}
  const email = membersOf(shown)?.["email"]
  return {
    ...membersOf(other),
    ...party,
    ...(party["email"] === undefined && typeof email === "string" && { email }),
  }
}

export function membersOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Members) // an object of JSON has members
    : undefined
}
