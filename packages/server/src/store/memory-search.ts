// The reference of what a search means: plain filters over all that was filed.

import { strict as assert } from "node:assert"
import { wordsOf, type FieldTerm, type Term, type TextTerm } from "@tallystick/client/grammar"
import type { Field, Filed, Instant, Search, Wanted } from "./search.ts"

export function createMemorySearch(): Search {
  const filed = new Map<string, Filed[]>()
  const filedIn = (workspace: string): readonly Filed[] => filed.get(workspace) ?? []

  const search: Search = {
    position: async (workspace) => filedIn(workspace).length,
    async find(workspace, wanted, before, limit) {
      const hits = filedIn(workspace)
        .filter((entry) => matches(entry, wanted))
        .map(({ sequence }) => sequence)
        .toReversed()
      const below = hits.filter((sequence) => sequence < before)
      return { sequences: below.slice(0, limit), hasMore: below.length > limit, total: hits.length }
    },
    file: (workspace, entries) => search.fileAll([{ workspace, entries }]),
    async fileAll(batches) {
      const made = batches.map(({ workspace, entries }) => ({ workspace, entries: [...entries] }))
      for (const { workspace, entries } of made) {
        const before = filedIn(workspace)
        for (const [place, { sequence }] of entries.entries())
          assert.equal(sequence, before.length + place + 1, "a search is filled without a gap")
      }
      for (const { workspace, entries } of made) filed.set(workspace, [...filedIn(workspace), ...entries])
    },
  }
  return search
}

function matches(entry: Filed, wanted: Wanted): boolean {
  const { projectIds, system, lane, userVisible, from, to, firstSequence = 0, lastSequence = Infinity, query, subject } = wanted
  const asActor = subject !== undefined && subject.id === entry.actor.id && subject.types.includes(entry.actor.type)
  const asTarget = subject !== undefined && subject.id === entry.target.id && subject.types.includes(entry.target.type)
  const { nobody, actor, target } = entry.fields
  const fields = [...nobody, ...(subject === undefined || asActor ? actor : []), ...(subject === undefined || asTarget ? target : [])]
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
    (query === undefined || holds(query.terms, fields))
  )
}

function isBefore({ occurredMs, occurredNs }: Filed, { ms, ns }: Instant): boolean {
  return occurredMs < ms || (occurredMs === ms && occurredNs < ns)
}

/** All terms hold; of those that name one field without `-`, one is enough. */
function holds(terms: readonly Term[], fields: readonly Field[]): boolean {
  return terms.every((term) =>
    term.not
      ? !fields.some((field) => meets(field, term))
      : terms
          .filter(
            (other) => other === term || (!other.not && other.kind === "field" && term.kind === "field" && other.field === term.field),
          )
          .some((other) => fields.some((field) => meets(field, other))),
  )
}

function meets(field: Field, term: Term): boolean {
  return term.kind === "text"
    ? field.isText && hasWords(wordsOf(field.value), term)
    : field.names.includes(term.field) && hasValue(field, term)
}

function hasWords(words: readonly string[], { words: wanted, isPrefix }: TextTerm): boolean {
  return words.some((_, at) =>
    wanted.every((word, place) => {
      const found = words[at + place]
      return found !== undefined && (isPrefix && place === wanted.length - 1 ? found.startsWith(word) : found === word)
    }),
  )
}

function hasValue({ value }: Field, { value: wanted, isPrefix }: FieldTerm): boolean {
  const [found, sought] = [value.toLowerCase(), wanted.toLowerCase()]
  return isPrefix ? found.startsWith(sought) : found === sought
}
