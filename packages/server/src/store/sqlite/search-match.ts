// What is wanted, as an expression of the full-text index: everything but times and sequences.

import type { FieldTerm, Query, TextTerm } from "@tallystick/client/grammar"
import type { Subject } from "../documents.ts"
import type { Wanted } from "../search/search.ts"
import type { Dictionary, TokenRange } from "./search-dictionary.ts"
import {
  idColumnOf,
  idWords,
  laneToken,
  ownToken,
  partyToken,
  projectToken,
  valueToken,
  visibleToken,
  wordToken,
} from "./search-tokens.ts"

export interface Match {
  readonly expression: string
  /** The lists that it is found by. */
  readonly ranges: readonly TokenRange[]
  /**
   * What many tokens begin with is gathered whole before the first hit is known, however few of
   * them are asked for.
   */
  readonly isGathered: boolean
}

/** Undefined: no entry can match it, because the index does not have a token of it. */
type Part = Match | undefined

/** What must hold, and what must not. */
interface Sides {
  readonly all: readonly Part[]
  readonly none: readonly Part[]
}

const columns = {
  actor: "{nobody actor id receipt}",
  target: "{nobody target id receipt}",
}

/** Undefined: nothing can match. */
export function matchOf(number: number, wanted: Wanted, dictionary: Dictionary): Match | undefined {
  const tokens = createTokens(number, dictionary)
  const filters = filterSides(tokens, wanted)
  const { query = { terms: [] }, subject, projectIds } = wanted
  // Who it is about is the rarest of all that is asked for: where the person is in nothing, the
  // terms are not looked at.
  if (subject === undefined)
    return expressionOf(tokens, wanted, both(filters, termSides(tokens, query)))
  const parties = partiesOf(tokens, subject, projectIds)
  if (parties.isActor === undefined && parties.isTarget === undefined) return undefined
  const sides = subjectSides(parties, termSides(tokens, query))
  return anyOf(sides.map((each) => expressionOf(tokens, wanted, both(filters, each))))
}

/** Tokens of one workspace as parts of an expression. */
type Tokens = ReturnType<typeof createTokens>

function createTokens(number: number, dictionary: Dictionary) {
  const tokens = {
    number,
    sharedNames: (field: string) => dictionary.sharedNames(field),
    one: (token: string): Part => tokens.row([token], false),
    /**
     * Tokens in a row, the last one by its start if `isPrefix`. A start of few tokens is these
     * tokens: they are walked together with all else that is asked for, and a start is gathered
     * first. `lead` stands before each row.
     */
    row(row: readonly string[], isPrefix: boolean, lead = ""): Part {
      const [before, last = ""] = [row.slice(0, -1), row.at(-1)]
      const beginning = isPrefix ? dictionary.beginning(last) : dictionary.has(last) ? [last] : []
      if (beginning?.length === 0 || !before.every((token) => dictionary.has(token)))
        return undefined
      const rows = beginning?.map((token) => quoted([...before, token])) ?? [`${quoted(row)} *`]
      return {
        expression: inOne(
          rows.map((each) => lead + each),
          " OR ",
        ),
        ranges: [
          ...before.map((token) => ({ token, isStart: false })),
          { token: last, isStart: isPrefix },
        ],
        isGathered: beginning === undefined,
      }
    },
  }
  return tokens
}

function expressionOf(tokens: Tokens, { system }: Wanted, { all, none }: Sides): Part {
  const { number } = tokens
  // To exclude the few is cheaper than to ask for the many, but something must be asked for.
  const own = tokens.one(ownToken(number, true))
  const everything = tokens.one(ownToken(number, false))
  const positive =
    all.length > 0 ? allOf(all) : system === "without" ? everything : anyOf([everything, own])
  const negative = anyOf(all.length > 0 && system === "without" ? [...none, own] : none)
  return negative === undefined ? positive : joined([positive, negative], " NOT ")
}

function filterSides(
  tokens: Tokens,
  { projectIds, system, lane, userVisible, subject }: Wanted,
): Sides {
  const { number } = tokens
  const all: Part[] = []
  // A subject's tokens say the project, and that the entry is visible.
  const projects =
    subject === undefined
      ? projectIds?.map((id) => tokens.one(projectToken(number, id)))
      : undefined
  if (system === "only") all.push(tokens.one(ownToken(number, true)))
  else if (projects !== undefined)
    all.push(
      anyOf(system === "with" ? [...projects, tokens.one(ownToken(number, true))] : projects),
    )
  if (lane !== undefined) all.push(tokens.one(laneToken(number, lane)))
  if (userVisible === true && subject === undefined) all.push(tokens.one(visibleToken(number)))
  return { all, none: userVisible === false ? [tokens.one(visibleToken(number))] : [] }
}

/** Terms of one field without `-` are alternatives; all else is asked for one by one. */
function termSides(tokens: Tokens, { terms }: Query): Sides {
  const all: Part[] = []
  const none: Part[] = []
  const alternatives = new Map<string, Part[]>()
  for (const term of terms) {
    const asked = term.kind === "text" ? textOf(tokens, term) : fieldOf(tokens, term)
    if (term.not) none.push(asked)
    else if (term.kind === "text") all.push(asked)
    else alternatives.set(term.field, [...(alternatives.get(term.field) ?? []), asked])
  }
  return { all: [...all, ...alternatives.values().map(anyOf)], none }
}

interface Parties {
  readonly isActor: Part
  readonly isTarget: Part
}

function partiesOf(
  tokens: Tokens,
  subject: Subject,
  projectIds: readonly string[] | undefined,
): Parties {
  return {
    isActor: partyOf(tokens, "actor", subject, projectIds),
    isTarget: partyOf(tokens, "target", subject, projectIds),
  }
}

/**
 * A subject is the actor, the target, or both; as one of them it is not shown what is the other's
 * alone, and cannot find by it.
 */
function subjectSides({ isActor, isTarget }: Parties, { all, none }: Sides): readonly Sides[] {
  const within = (filter: string, asked: readonly Part[]) =>
    asked.map((each) => each && { ...each, expression: `${filter} : (${each.expression})` })
  return [
    {
      all: [isActor, ...within(columns.actor, all)],
      none: [isTarget, ...within(columns.actor, none)],
    },
    {
      all: [isTarget, ...within(columns.target, all)],
      none: [isActor, ...within(columns.target, none)],
    },
    { all: [isActor, isTarget, ...all], none },
  ]
}

function partyOf(
  tokens: Tokens,
  party: "actor" | "target",
  { id, types }: Subject,
  projectIds: readonly string[] | undefined,
): Part {
  const token = (projectId: string, type: string) =>
    partyToken(tokens.number, party, projectId, { id, type })
  return anyOf(
    types.flatMap((type) =>
      projectIds === undefined
        ? [tokens.row([token("", type)], true)]
        : projectIds.map((projectId) => tokens.one(token(projectId, type))),
    ),
  )
}

function textOf(tokens: Tokens, { words, isPrefix }: TextTerm): Part {
  return tokens.row(wordTokens(tokens.number, words), isPrefix)
}

function fieldOf(tokens: Tokens, { field, value, isPrefix }: FieldTerm): Part {
  const asked = [[field], ...tokens.sharedNames(field)].map((names) =>
    tokens.row([valueToken(tokens.number, names, value)], isPrefix),
  )
  return anyOf([...asked, idOf(tokens, field, value.toLowerCase(), isPrefix)])
}

/**
 * Ids have a column of their own, where the first word is the start of the value, and the second
 * its end.
 */
function idOf(tokens: Tokens, field: string, lowered: string, isPrefix: boolean): Part {
  const column = idColumnOf({ names: [field] })
  if (column === undefined) return undefined
  const asked = (words: readonly string[], isStart: boolean): Part =>
    tokens.row(wordTokens(tokens.number, words), isStart, `{${column}} : ^ `)
  if (!isPrefix) {
    const words = idWords(lowered)
    return words && asked(words, false)
  }
  const [first = "", second, ...more] = lowered.split("_")
  if (more.length > 0 || !/^[a-z0-9]*$/.test(first + (second ?? ""))) return undefined
  if (second === undefined) return asked([first], true)
  return first === "" ? undefined : asked(second === "" ? [first] : [first, second], second !== "")
}

function wordTokens(number: number, words: readonly string[]): readonly string[] {
  return words.map((word) => wordToken(number, word))
}

function both(a: Sides, b: Sides): Sides {
  return { all: [...a.all, ...b.all], none: [...a.none, ...b.none] }
}

function anyOf(parts: readonly Part[]): Part {
  return joined(
    parts.filter((part) => part !== undefined),
    " OR ",
  )
}

function allOf(parts: readonly Part[]): Part {
  return joined(parts, " AND ")
}

/** Nothing if there are none, or if one of them is nothing. */
function joined(parts: readonly Part[], operator: " AND " | " OR " | " NOT "): Part {
  const known = parts.filter((part) => part !== undefined)
  if (known.length === 0 || known.length < parts.length) return undefined
  return {
    expression: inOne(
      known.map(({ expression }) => expression),
      operator,
    ),
    ranges: known.flatMap(({ ranges }) => ranges),
    isGathered: known.some(({ isGathered }) => isGathered),
  }
}

function inOne(expressions: readonly string[], operator: string): string {
  return expressions.length === 1 && expressions[0] !== undefined
    ? expressions[0]
    : `(${expressions.join(operator)})`
}

/** No token has a quote in it. */
function quoted(tokens: readonly string[]): string {
  return `"${tokens.join(" ")}"`
}
