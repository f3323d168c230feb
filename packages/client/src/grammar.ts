// The grammar of searches, for the service and for pages that show how a search is understood.
//
//   approve           a word that begins so, of any text of an entry
//   "invoice 42"      these words in a row within one value; "invoice 4"* for the start of the last one
//   inv_42            the same as "inv 42"*: what is no letter or digit only parts words
//   actor:usr_1       the whole of a value; actor:usr_* for its start; target:"Invoice 42" where it has spaces
//   -…                what must not be there
//
// All terms must match; of several terms that name one field without `-`, one is enough. Case is
// ignored, diacritics are not. No search is malformed, only too long: everything else is read as
// text.

export interface Query {
  readonly terms: readonly Term[]
}

export type Term = TextTerm | FieldTerm

/** Consecutive words of one value, at least one; with `isPrefix` the last is a prefix. */
export interface TextTerm {
  readonly kind: "text"
  readonly not: boolean
  readonly words: readonly string[]
  readonly isPrefix: boolean
}

/** A whole value, or its prefix, ignoring case. */
export interface FieldTerm {
  readonly kind: "field"
  readonly not: boolean
  readonly field: string
  readonly value: string
  readonly isPrefix: boolean
}

export const queryBytesMax = 512
export const queryTermsMax = 16

/** The fields that a search may name, in addition to `metadata.<key>`. */
export const queryFields = [
  "action",
  "actor",
  "target",
  "email",
  "name",
  "id",
  "receipt",
  "type",
  "lane",
  "project",
  "source",
  "kind",
  "trace",
  "key",
] as const

/** A parsed search; or the broken rule, as the end of a sentence that begins with `query`. */
export function parseQuery(text: string): { readonly query: Query } | { readonly problem: string } {
  const bytes = new TextEncoder().encode(text).length
  if (bytes > queryBytesMax)
    return { problem: `must have at most ${queryBytesMax} bytes, it has ${bytes}` }
  const terms = readTerms(text).flatMap(({ term }) => term ?? [])
  const { length } = terms
  return length > queryTermsMax
    ? { problem: `must have at most ${queryTermsMax} terms, it has ${length}` }
    : { query: { terms } }
}

/** A piece of a search with its meaning. A dash or a star alone is no term. */
export interface ReadTerm {
  readonly text: string
  readonly term: Term | undefined
}

/** The pieces of a search in their order, for a page that shows how it was understood. */
export function readTerms(text: string): readonly ReadTerm[] {
  return [...text.matchAll(pattern)]
    .filter(([whole]) => whole !== "")
    .map(([whole, minus, field, quoted, raw, star]) => ({
      text: whole,
      term: termOf(minus === "-", field, quoted, raw, star === "*"),
    }))
}

/**
 * One term: a minus, the name of a field with its colon, and a text, in quotation marks (which the
 * end of the search closes as well) or up to the next space; a star after either.
 */
const pattern = new RegExp(
  String.raw`(-?)(?:(${queryFields.join("|")}|metadata\.[^\s:"]+):)?(?:"([^"]*)(?:"|$)|([^\s"*](?:[^\s"]*[^\s"*])?|))(\*(?=\s|$))?`,
  "gu",
)

function termOf(
  not: boolean,
  field: string | undefined,
  quoted: string | undefined,
  raw: string | undefined,
  hasStar: boolean,
): Term | undefined {
  const value = quoted ?? raw ?? ""
  if (field !== undefined && (value !== "" || hasStar || quoted !== undefined)) {
    return { kind: "field", not, field, value, isPrefix: hasStar }
  }
  const words = wordsOf(field === undefined ? value : `${field}:${value}`)
  // A term without a letter or digit can match nothing.
  return words.length === 0
    ? undefined
    : { kind: "text", not, words, isPrefix: quoted === undefined || hasStar }
}

/**
 * The words of a text: its runs of letters and digits, in lower case. Marks belong to their letter:
 * some scripts write vowels as marks, and an accent may be a separate mark.
 */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? []
}
