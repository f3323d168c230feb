// Every word of a person's activity, in English. A program that embeds it may give others.

import type { Child } from "../elements/elements.ts"
import { refusalWords } from "../parts/refusal-section.tsx"
import type { TimeText } from "../parts/time-element.tsx"
import type { englishDetails } from "./detail-phrases.ts"

/** What stands in `{}` is filled in. */
export const english = {
  ...refusalWords,
  searchLabel: "Search your activity",
  searchHint: "Search, for example “password”",
  today: "Today",
  yesterday: "Yesterday",
  nothing: "Nothing recorded for you yet.",
  noMatch: "Nothing matches “{text}”.",
  showEverything: "Show everything",
  showOlder: "Show older",
  shown: "{count} of {total}",
  intact: "Every entry below was recomputed in this browser",
  attention: "Shown without a proof: {part} of the {count} entries below",
  wrong: "Not what was recorded: {part} of the {count} entries below",
  you: "You {did}",
  somebody: "Somebody {did}",
  by: "by {name}",
  happened: "happened {time}, as its sender says",
  sealed: "Receipt",
  pending: "Not sealed yet",
  unproven: "Not proven",
  broken: "Broken",
  of: "of {action}",
}

/** A lane is called by its name, unless there is a word for it. */
export type Words = Readonly<typeof english & Partial<Record<Lane, string>>>
type Lane = "security" | "data" | "policy" | "operations"

/** The text for an action: `signed in`, or two sentences, for oneself and for another person. */
export type ActionPhrase = string | readonly [own: string, other: string]

export interface Reader {
  readonly words: Words & Partial<typeof englishDetails>
  readonly actions: Readonly<Record<string, ActionPhrase>>
  /** BCP 47, for numbers and times. */
  readonly locale: string
  readonly time: TimeText
  /** Address of a page where the reader checks an entry without this program. */
  readonly verifier: URL
}

/** Actions that are common enough to have a sentence. Every other one is shown by its name. */
export const englishActions: Readonly<Record<string, string>> = {
  "auth.session.created": "signed in",
  "auth.session.ended": "signed out",
  "auth.session.revoked": "ended a session",
  "auth.login.succeeded": "signed in",
  "auth.login.failed": "failed to sign in",
  "auth.password.changed": "changed a password",
  "auth.password.reset": "reset a password",
  "mfa.device.enrolled": "added a sign-in device",
  "mfa.device.removed": "removed a sign-in device",
  "account.email.changed": "changed an e-mail address",
  "data.export.requested": "asked for an export of data",
  "data.export.finished": "received an export of data",
  "policy.consent.record": "agreed to a policy",
  "policy.consent.withdraw": "withdrew an agreement",
}

export function phraseOf<Phrase>(
  action: string,
  phrases: Readonly<Record<string, Phrase>>,
): Phrase | undefined {
  return Object.hasOwn(phrases, action) ? phrases[action] : undefined
}

/** The parts of a phrase, in their order. */
export function filled(phrase: string, values: Readonly<Record<string, Child>>): readonly Child[] {
  return phrase.split(/\{(\w+)\}/).map((part, at) => (at % 2 === 1 ? values[part] : part))
}
