// Defines what a search means, as a plain filter over one entry after another. Tests compare the
// segments with it, and searches use it for the newest entries, which are in no segment yet.

import { wordsOf, type FieldTerm, type Term, type TextTerm } from "@tallystick/client/grammar"
import type { Field, Filed, Instant, Owner, Wanted } from "./search.ts"

/** An entry whose fields are prepared once, at the first search that needs them. */
export interface Findable {
  readonly filed: Filed
  readonly fields: Readonly<Record<Owner, Prepared>>
}

/** An entry may have 100,000 words, and be compared with thousands of terms. */
interface Prepared {
  /** The words of all texts. Each word stands between spaces, each text on a line. */
  readonly words: string
  /** By name, in lower case. */
  readonly values: ReadonlyMap<string, readonly string[]>
}

export function findableOf(filed: Filed): Findable {
  let fields: Findable["fields"] | undefined
  return {
    filed,
    get fields() {
      const { nobody, actor, target } = filed.fields
      // An entry without its content has a lane, and no value that says it.
      const lane = { names: ["lane"], value: filed.lane, isText: false }
      fields ??= {
        nobody: prepare([...nobody, lane]),
        actor: prepare(actor),
        target: prepare(target),
      }
      return fields
    },
  }
}

function prepare(fields: readonly Field[]): Prepared {
  const values = new Map<string, string[]>()
  const texts: string[] = []
  for (const { names, value, isText } of fields) {
    if (isText) texts.push(` ${wordsOf(value).join(" ")} `)
    for (const name of names) {
      const known = values.get(name)
      if (known === undefined) values.set(name, [value.toLowerCase()])
      else known.push(value.toLowerCase())
    }
  }
  return { words: texts.join("\n"), values }
}

export function matches(findable: Findable, wanted: Wanted): boolean {
  const { filed: entry } = findable
  const {
    projectIds,
    system,
    lane,
    userVisible,
    from,
    to,
    firstSequence = 0,
    lastSequence = Infinity,
    query,
    subject,
  } = wanted
  const asActor =
    subject !== undefined &&
    subject.id === entry.actor.id &&
    subject.types.includes(entry.actor.type)
  const asTarget =
    subject !== undefined &&
    subject.id === entry.target.id &&
    subject.types.includes(entry.target.type)
  return (
    (system === "with" || entry.isSystem === (system === "only")) &&
    (projectIds === undefined || entry.isSystem || projectIds.includes(entry.projectId)) &&
    (lane === undefined || entry.lane === lane) &&
    (userVisible === undefined || entry.userVisible === userVisible) &&
    (from === undefined || !isBefore(entry, from)) &&
    (to === undefined || isBefore(entry, to)) &&
    entry.sequence >= firstSequence &&
    entry.sequence <= lastSequence &&
    (subject === undefined || (entry.userVisible && (asActor || asTarget))) &&
    (query === undefined ||
      query.terms.length === 0 ||
      holds(query.terms, [
        findable.fields.nobody,
        ...(subject === undefined || asActor ? [findable.fields.actor] : []),
        ...(subject === undefined || asTarget ? [findable.fields.target] : []),
      ]))
  )
}

function isBefore({ occurredMs, occurredNs }: Filed, { ms, ns }: Instant): boolean {
  return occurredMs < ms || (occurredMs === ms && occurredNs < ns)
}

/** All terms must match; of several terms for one field without `-`, one is enough. */
function holds(terms: readonly Term[], fields: readonly Prepared[]): boolean {
  const isMet = (term: Term): boolean => fields.some((some) => meets(some, term))
  return terms.every((term) => {
    if (term.not) return !isMet(term)
    if (isMet(term)) return true
    if (term.kind === "text") return false
    return terms.some(
      (other) => !other.not && other.kind === "field" && other.field === term.field && isMet(other),
    )
  })
}

function meets({ words, values }: Prepared, term: Term): boolean {
  return term.kind === "text" ? hasWords(words, term) : hasValue(values.get(term.field) ?? [], term)
}

function hasWords(words: string, { words: wanted, isPrefix }: TextTerm): boolean {
  const sought = `${wanted.join(" ")}${isPrefix ? "" : " "}`
  // Many texts have more spaces than any letter, so the space before a word is checked last.
  for (let at = words.indexOf(sought); at !== -1; at = words.indexOf(sought, at + 1))
    if (words[at - 1] === " ") return true
  return false
}

function hasValue(values: readonly string[], { value: wanted, isPrefix }: FieldTerm): boolean {
  const sought = wanted.toLowerCase()
  return isPrefix ? values.some((value) => value.startsWith(sought)) : values.includes(sought)
}
