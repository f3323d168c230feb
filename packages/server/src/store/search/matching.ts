// Defines what a search means, as a plain filter over one entry after another. Tests compare the
// segments with it, and searches use it for the newest entries, which are in no segment yet.

import { wordsOf, type FieldTerm, type Term, type TextTerm } from "@tallystick/client/grammar"
import type { Field, Filed, Instant, Owner, Wanted } from "./search.ts"

/** An entry whose words are split once, at the first search that needs them. */
export interface Findable {
  readonly filed: Filed
  readonly fields: Readonly<Record<Owner, readonly Words[]>>
}

interface Words {
  readonly field: Field
  /** In lower case. */
  readonly value: string
  readonly words: readonly string[]
}

export function findableOf(filed: Filed): Findable {
  let fields: Findable["fields"] | undefined
  return {
    filed,
    get fields() {
      const { nobody, actor, target } = filed.fields
      fields ??= {
        nobody: nobody.map(wordsIn),
        actor: actor.map(wordsIn),
        target: target.map(wordsIn),
      }
      return fields
    },
  }
}

function wordsIn(field: Field): Words {
  return {
    field,
    value: field.value.toLowerCase(),
    words: field.isText ? wordsOf(field.value) : [],
  }
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
        ...findable.fields.nobody,
        ...(subject === undefined || asActor ? findable.fields.actor : []),
        ...(subject === undefined || asTarget ? findable.fields.target : []),
      ]))
  )
}

function isBefore({ occurredMs, occurredNs }: Filed, { ms, ns }: Instant): boolean {
  return occurredMs < ms || (occurredMs === ms && occurredNs < ns)
}

/** All terms must match; of several terms for one field without `-`, one is enough. */
function holds(terms: readonly Term[], fields: readonly Words[]): boolean {
  const isMet = (term: Term): boolean => fields.some((field) => meets(field, term))
  return terms.every((term) => {
    if (term.not) return !isMet(term)
    if (isMet(term)) return true
    if (term.kind === "text") return false
    return terms.some(
      (other) => !other.not && other.kind === "field" && other.field === term.field && isMet(other),
    )
  })
}

function meets({ field, value, words }: Words, term: Term): boolean {
  return term.kind === "text"
    ? field.isText && hasWords(words, term)
    : field.names.includes(term.field) && hasValue(value, term)
}

function hasWords(words: readonly string[], { words: wanted, isPrefix }: TextTerm): boolean {
  return words.some((_, at) =>
    wanted.every((word, place) => {
      const found = words[at + place]
      return (
        found !== undefined &&
        (isPrefix && place === wanted.length - 1 ? found.startsWith(word) : found === word)
      )
    }),
  )
}

function hasValue(found: string, { value: wanted, isPrefix }: FieldTerm): boolean {
  const sought = wanted.toLowerCase()
  return isPrefix ? found.startsWith(sought) : found === sought
}
