// Suggestions for the search box: fields first, then values of the typed field.

import { queryFields } from "@tallystick/client/grammar"
import type { ActorNames } from "./actor-names.ts"
import { lanes, termText } from "./asked.ts"

export interface Suggestion {
  /** Replaces the word at the caret. */
  readonly text: string
  readonly beside: string
  /** A whole search, which replaces everything. */
  readonly isSearch?: boolean
  /** A field whose value must still be typed. */
  readonly isField?: boolean
}

const fieldHints: Readonly<Record<string, string>> = {
  action: "billing.invoice.paid",
  actor: "who did it: id, name or e-mail",
  target: "what it was done to",
  email: "of actor or target",
  name: "of actor or target",
  id: "of the event",
  receipt: "rcp_…",
  type: "of actor or target",
  lane: lanes.join(", "),
  project: "",
  source: "api, automation, dashboard, system",
  kind: "event, consent, policy, admin, …",
  trace: "a trace id",
  key: "the API key that wrote it",
  "metadata.": "any member: metadata.ticket:SUP-1",
  since: "24h, 7d, all, or a day",
  time: "a day, or from..to",
  storage: "hot, archive",
  visible: "true, false: to its person",
}

const known: Readonly<Record<string, readonly string[]>> = {
  lane: lanes,
  storage: ["hot", "archive", "all"],
  visible: ["true", "false"],
  since: ["1h", "24h", "7d", "30d", "90d", "all"],
}

/** The word before the caret, with its dash and its field. */
export interface Typed {
  readonly minus: string
  readonly field: string | undefined
  readonly value: string
}

export function typedIn(word: string): Typed {
  const [, minus = "", field, value = ""] = /^(-?)(?:([A-Za-z][\w.]*):)?"?(.*)$/s.exec(word) ?? []
  return { minus, field, value }
}

export function fieldSuggestions({ minus, value }: Typed): readonly Suggestion[] {
  return Object.entries(fieldHints)
    .filter(([field]) => field.startsWith(value.toLowerCase()))
    .map(([field, beside]) => ({
      text: `${minus}${field}${field.endsWith(".") ? "" : ":"}`,
      beside,
      isField: true,
    }))
}

/** Values that are known without a request; undefined if the service must count them. */
export function knownValues({ minus, field, value }: Typed): readonly Suggestion[] | undefined {
  if (field === undefined || !Object.hasOwn(known, field)) return undefined
  return (known[field] ?? [])
    .filter((each) => each.startsWith(value.toLowerCase()))
    .map((each) => ({ text: `${minus}${field}:${each}`, beside: "" }))
}

export function isCounted(field: string): boolean {
  const isField = (queryFields as readonly string[]).includes(field)
  return (isField && field !== "id" && field !== "receipt") || /^metadata\../.test(field)
}

export function valueSuggestions(
  { minus, field = "", value }: Typed,
  values: readonly { readonly value: string; readonly count: number }[],
  names?: Pick<ActorNames, "nameOf" | "idsOf">,
): readonly Suggestion[] {
  const wanted = value.toLowerCase()
  const nameOf = (id: string) => (field === "actor" ? names?.nameOf(id) : undefined)
  const countOf = (id: string) => values.find((each) => each.value === id)?.count
  const begins = values.filter((each) => each.value.startsWith(wanted))
  const holds = values.filter(
    (each) => each.value.includes(wanted) && !each.value.startsWith(wanted),
  )
  const named = field === "actor" && wanted !== "" ? (names?.idsOf(wanted) ?? []) : []
  const counts = new Map<string, number | undefined>(
    [...begins, ...holds].map((each) => [each.value, each.count]),
  )
  for (const id of named) counts.set(id, countOf(id))
  return [...counts].map(([each, count]) => ({
    text: `${minus}${termText(field, each)}`,
    beside: [nameOf(each), count?.toLocaleString("en-GB")].filter((text) => text).join(" · "),
  }))
}
