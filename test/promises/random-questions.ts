import type { Chance } from "../chance.ts"
import {
  actions,
  sealedKey,
  valuesOf,
  wordsIn,
  type Body,
  type Filter,
  type Party,
  type Reader,
  type Term,
  type Value,
  type Written,
} from "./read-model.ts"

// Random writes, and random questions about them, mostly about existing entries and in all forms.

const words = [
  "invoice",
  "Invoices",
  "in",
  "red",
  "Redwood",
  "été",
  "Ete",
  "paid",
  "2026",
  "20",
  "late-fee",
  "naïve",
  "東京",
  "O'Neil",
]
const names = [
  "Ada Lovelace",
  "Ada  King",
  "Zoë Ångström",
  "adam",
  "Grace B. Hopper",
  "Łukasz",
  "山田 太郎",
]
const emails = [
  "ada@example.com",
  "ada.king@example.org",
  "ZOE@Example.com",
  "hopper+x@navy.example",
]
const projects = ["core", "billing", "shop"]
/** In nanoseconds since 1970: a Saturday. */
const startNs = 1_769_850_000_000_000_000n

/** Few people, who meet each other often. */
export function partyOf(chance: Chance): Party {
  return {
    id: `usr_${chance.below(6)}`,
    type: chance.pick(["user", "user", "member", "robot"]),
    ...(chance.percent(60) && { name: chance.pick(names) }),
    ...(chance.percent(60) && { email: chance.pick(emails) }),
  }
}

export function bodyOf(key: string, chance: Chance): Body {
  const sentence = (): string =>
    Array.from({ length: 1 + chance.below(5) }, () => chance.pick(words)).join(
      chance.pick([" ", " ", ", ", "/"]),
    )
  return {
    projectId: chance.pick(["core", "core", "core", "billing", "shop"]),
    action: chance.pick(actions),
    actor: partyOf(chance),
    target: chance.percent(40)
      ? partyOf(chance)
      : { id: `inv_${chance.below(40)}`, type: "invoice", name: `Invoice ${chance.below(40)}` },
    source: chance.pick(["api", "automation", "dashboard", "system"]),
    userVisible: chance.percent(60),
    metadata: {
      key,
      ...(chance.percent(60) && { note: sentence() }),
      ...(chance.percent(30) && {
        order: {
          id: `A-${chance.below(30)}`,
          amount: chance.below(400) / 4,
          open: chance.percent(50),
        },
      }),
      ...(chance.percent(30) && {
        tags: Array.from({ length: chance.below(4) }, () =>
          chance.pick([sentence(), null, 7, chance.pick(words)]),
        ),
      }),
      ...(chance.percent(30) && { [sealedKey]: `+49 30 ${chance.below(50)}` }),
    },
  }
}

/** A moment among few, so that many are equal and some differ in the last digit only. */
export function instantOf(chance: Chance): bigint {
  return (
    startNs +
    BigInt(chance.below(30)) * 599_999_999_999n +
    BigInt(chance.pick([0, 0, 1, 999, 1_000_000, 999_999_999]))
  )
}

/** The same moment in one of the forms that it can be written in. */
export function timeText(ns: bigint, chance: Chance): string {
  const offset = chance.pick([0, 0, 0, 120, -330, 1439])
  const [whole, rest] = [ns / 1_000_000_000n, ns % 1_000_000_000n]
  const local = new Date((Number(whole) + offset * 60) * 1000).toISOString().slice(0, 19)
  const digits = String(rest).padStart(9, "0")
  const short = digits.replace(/0+$/, "")
  const fraction =
    chance.percent(50) && short === ""
      ? ""
      : `.${chance.percent(50) && short !== "" ? short : digits}`
  const two = (count: number): string => String(count).padStart(2, "0")
  const minutes = Math.abs(offset)
  const zone =
    offset === 0
      ? chance.pick(["Z", "z", "+00:00", "-00:00"])
      : `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
  return `${chance.percent(90) ? local : local.toLowerCase()}${fraction}${zone}`
}

export function filterOf(writes: readonly Written[], chance: Chance, reader: Reader): Filter {
  const terms = termsOf(writes, chance)
  if (reader.kind === "person") return { terms }
  // The service refuses an end before the start.
  const [one, other] = [instantOf(chance), instantOf(chance)]
  const [fromNs, toNs] = one < other ? [one, other] : [other, one]
  return {
    ...(chance.percent(30) && { project: chance.pick(reader.projects ?? projects) }),
    ...(chance.percent(25) && { lane: chance.pick(["security", "data", "policy", "operations"]) }),
    ...(chance.percent(25) && { userVisible: chance.percent(50) }),
    ...(chance.percent(25) && { fromNs }),
    ...(chance.percent(25) && { toNs }),
    terms,
  }
}

function termsOf(writes: readonly Written[], chance: Chance): readonly Term[] {
  const count = chance.pick([0, 1, 1, 1, 2, 2, 3, 5])
  const about = chance.pick(writes)
  const terms: Term[] = []
  for (let made = 0; made < count; made++) {
    // A value that one entry has in several places, or that several entries have.
    const term = termOf(valuesOf(chance.percent(70) ? about : chance.pick(writes)), chance)
    if (term !== undefined) terms.push(term)
  }
  return terms
}

function termOf(values: readonly Value[], chance: Chance): Term | undefined {
  const value = chance.pick(values)
  const not = chance.percent(20)
  const kind = chance.below(10)
  if (kind === 0)
    return rendered(
      { not, isPrefix: true, words: [chance.pick(["nothing", "x", "0", "evt", "rcp"])] },
      chance,
    )
  if (kind === 1)
    return { not, isPrefix: true, words: ["colour", "red"], text: `${not ? "-" : ""}colour:red` }
  if (kind < 5 && value.names.length > 0) return fieldTerm(value, not, chance)
  const found = wordsIn(value.text)
  if (found.length === 0) return undefined
  const from = chance.below(found.length)
  const some = found.slice(from, from + 1 + chance.below(3))
  return rendered({ not, isPrefix: chance.percent(60), words: some }, chance)
}

function fieldTerm({ names: fields, text }: Value, not: boolean, chance: Chance): Term | undefined {
  if (text.includes('"')) return undefined
  const field = chance.pick(fields)
  const isPrefix = chance.percent(40)
  const characters = [...(chance.percent(30) ? text.toUpperCase() : text)]
  const value = isPrefix
    ? characters.slice(0, chance.below(characters.length + 1)).join("")
    : characters.join("")
  // Upper and lower case are not always one to one, so the model must agree with the query.
  if (!isPrefix && value.toLowerCase() !== text.toLowerCase()) return undefined
  const isBare = /^[\w.@+-]+$/u.test(value) && chance.percent(60)
  return {
    not,
    isPrefix,
    field,
    value,
    text: `${not ? "-" : ""}${field}:${isBare ? value : `"${value}"`}${isPrefix ? "*" : ""}`,
  }
}

/** A word or a phrase, the last word whole or cut. */
function rendered(
  term: { readonly not: boolean; readonly isPrefix: boolean; readonly words: readonly string[] },
  chance: Chance,
): Term {
  const last = [...(term.words.at(-1) ?? "")]
  const cut = term.isPrefix ? last.slice(0, 1 + chance.below(last.length)).join("") : last.join("")
  const all = [...term.words.slice(0, -1), cut]
  const minus = term.not ? "-" : ""
  // Without quotation marks the last word is always a prefix.
  if (term.isPrefix && chance.percent(60))
    return {
      ...term,
      words: all,
      text: `${minus}${all.join(chance.pick(["_", "-", ".", "@", "/"]))}${chance.percent(30) ? "*" : ""}`,
    }
  return {
    ...term,
    words: all,
    text: `${minus}"${all.join(chance.pick([" ", "  ", ", "]))}"${term.isPrefix ? "*" : ""}`,
  }
}
