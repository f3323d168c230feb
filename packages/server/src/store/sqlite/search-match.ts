// What is wanted, as an expression of the full-text index: everything but times and sequences.

import type { FieldTerm, Query, TextTerm } from "@tallystick/client/grammar"
import type { Subject } from "../documents.ts"
import type { Wanted } from "../search.ts"
import { idColumnOf, idWords, laneToken, ownToken, partyToken, projectToken, valueToken, visibleToken, wordToken } from "./search-tokens.ts"

export interface Match {
  readonly expression: string
  /** What many tokens begin with is gathered whole before the first hit is known, however few of them are asked for. */
  readonly hasPrefix: boolean
}

/** What the index knows of its own tokens. */
export interface Dictionary {
  /** The lists of names that a field's values may stand under, beside its own name alone. */
  sharedNames(field: string): readonly (readonly string[])[]
  /** All tokens that begin so; undefined when they are too many to be asked for one by one. */
  beginning(token: string): readonly string[] | undefined
}

/** What must hold, and what must not. */
interface Sides {
  readonly all: readonly string[]
  readonly none: readonly string[]
}

const columns = {
  actor: "{nobody actor id receipt}",
  target: "{nobody target id receipt}",
}

export function matchOf(number: number, wanted: Wanted, dictionary: Dictionary): Match {
  const terms = termSides(number, wanted.query ?? { terms: [] }, dictionary)
  const filters = filterSides(number, wanted)
  const expression =
    wanted.subject === undefined
      ? expressionOf(number, wanted, both(filters, terms))
      : anyOf(
          subjectSides(number, wanted.subject, wanted.projectIds, terms).map((sides) => expressionOf(number, wanted, both(filters, sides))),
        )
  // Outside of quotes a star is nothing else.
  return { expression, hasPrefix: expression.includes(star) }
}

const star = '" *'

function expressionOf(number: number, { system }: Wanted, { all, none }: Sides): string {
  // To exclude the few is cheaper than to ask for the many, but something must be asked for.
  const own = system === "without" ? [quoted(ownToken(number, true))] : []
  const everything = quoted(ownToken(number, false))
  const positive =
    all.length > 0 ? all.join(" AND ") : system === "without" ? everything : anyOf([everything, quoted(ownToken(number, true))])
  const negative = all.length > 0 ? [...none, ...own] : none
  return negative.length === 0 ? `(${positive})` : `((${positive}) NOT ${anyOf(negative)})`
}

function filterSides(number: number, { projectIds, system, lane, userVisible, subject }: Wanted): Sides {
  // A subject's tokens say the project, and that the entry is visible.
  const projects = subject === undefined ? projectIds?.map((id) => quoted(projectToken(number, id))) : undefined
  const all: string[] = []
  if (system === "only") all.push(quoted(ownToken(number, true)))
  else if (projects !== undefined) all.push(anyOf(system === "with" ? [...projects, quoted(ownToken(number, true))] : projects))
  if (lane !== undefined) all.push(quoted(laneToken(number, lane)))
  if (userVisible === true && subject === undefined) all.push(quoted(visibleToken(number)))
  return { all, none: userVisible === false ? [quoted(visibleToken(number))] : [] }
}

/** Terms of one field without `-` are alternatives; all else is asked for one by one. */
function termSides(number: number, { terms }: Query, dictionary: Dictionary): Sides {
  const all: string[] = []
  const none: string[] = []
  const alternatives = new Map<string, string[]>()
  for (const term of terms) {
    const asked = term.kind === "text" ? textOf(number, term, dictionary) : fieldOf(number, term, dictionary)
    if (term.not) none.push(asked)
    else if (term.kind === "text") all.push(asked)
    else alternatives.set(term.field, [...(alternatives.get(term.field) ?? []), asked])
  }
  return { all: [...all, ...alternatives.values().map(anyOf)], none }
}

/** A subject is the actor, the target, or both; as one of them it is not shown what is the other's alone, and cannot find by it. */
function subjectSides(number: number, subject: Subject, projectIds: readonly string[] | undefined, { all, none }: Sides): readonly Sides[] {
  const isActor = partyOf(number, "actor", subject, projectIds)
  const isTarget = partyOf(number, "target", subject, projectIds)
  const within = (filter: string, asked: readonly string[]) => asked.map((each) => `${filter} : (${each})`)
  return [
    { all: [isActor, ...within(columns.actor, all)], none: [isTarget, ...within(columns.actor, none)] },
    { all: [isTarget, ...within(columns.target, all)], none: [isActor, ...within(columns.target, none)] },
    { all: [isActor, isTarget, ...all], none },
  ]
}

function partyOf(number: number, party: "actor" | "target", { id, types }: Subject, projectIds: readonly string[] | undefined): string {
  return anyOf(
    types.flatMap((type) =>
      projectIds === undefined
        ? [`${quoted(partyToken(number, party, "", { id, type }))} *`]
        : projectIds.map((projectId) => quoted(partyToken(number, party, projectId, { id, type }))),
    ),
  )
}

function textOf(number: number, { words, isPrefix }: TextTerm, dictionary: Dictionary): string {
  return anyOf(phrases(wordTokens(number, words), isPrefix, dictionary))
}

function fieldOf(number: number, { field, value, isPrefix }: FieldTerm, dictionary: Dictionary): string {
  const asked = [[field], ...dictionary.sharedNames(field)].flatMap((names) =>
    phrases([valueToken(number, names, value)], isPrefix, dictionary),
  )
  return anyOf([...asked, ...idsOf(number, field, value.toLowerCase(), isPrefix, dictionary)])
}

/** Ids have a column of their own, where the first word is the start of the value, and the second its end. */
function idsOf(number: number, field: string, lowered: string, isPrefix: boolean, dictionary: Dictionary): string[] {
  const column = idColumnOf({ names: [field] })
  if (column === undefined) return []
  const asked = (words: readonly string[], isStart: boolean) =>
    phrases(wordTokens(number, words), isStart, dictionary).map((phrase) => `{${column}} : ^ ${phrase}`)
  if (!isPrefix) {
    const words = idWords(lowered)
    return words === undefined ? [] : asked(words, false)
  }
  const [first = "", second, ...more] = lowered.split("_")
  if (more.length > 0 || !/^[a-z0-9]*$/.test(first + (second ?? ""))) return []
  if (second === undefined) return asked([first], true)
  return first === "" ? [] : asked(second === "" ? [first] : [first, second], second !== "")
}

function wordTokens(number: number, words: readonly string[]): readonly string[] {
  return words.map((word) => wordToken(number, word))
}

/** A prefix of few tokens is these tokens: they are walked together with all else that is asked for, and a prefix is gathered first. */
function phrases(tokens: readonly string[], isPrefix: boolean, dictionary: Dictionary): string[] {
  const whole = quoted(tokens.join(" "))
  if (!isPrefix) return [whole]
  const last = dictionary.beginning(tokens.at(-1) ?? "")
  if (last === undefined) return [`${whole} *`]
  return last.length === 0 ? [whole] : last.map((token) => quoted([...tokens.slice(0, -1), token].join(" ")))
}

function both(a: Sides, b: Sides): Sides {
  return { all: [...a.all, ...b.all], none: [...a.none, ...b.none] }
}

function anyOf(asked: readonly string[]): string {
  return asked.length === 1 && asked[0] !== undefined ? asked[0] : `(${asked.join(" OR ")})`
}

/** No token has a quote in it. */
function quoted(tokens: string): string {
  return `"${tokens}"`
}
