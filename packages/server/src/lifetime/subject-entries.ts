// Finds everything that the ledger has about a person: the search proposes entries, and the body of
// each decides.

import {
  isJsonObject,
  parseDisclosure,
  parseRecord,
  type Json,
  type JsonObject,
} from "@tallystick/proof"
import { wordsOf, type Term } from "@tallystick/client/grammar"
import type { Pace } from "../runtime/pace.ts"
import { disclosureDigest } from "../runtime/sha256.ts"
import { disclosuresFor } from "../store/opened-entry.ts"
import { systemProject } from "../store/search/searchable-fields.ts"
import type { ErasureScope, Person } from "../store/documents.ts"
import type { Finder, Wanted } from "../store/search/search.ts"
import type { Stored } from "../store/entries.ts"
import type { JournalReader } from "../store/store.ts"
import { entriesInBatches } from "./entries-in-batches.ts"
import { intactBody } from "./intact-body.ts"

/** What an erasure destroys of one entry. */
export interface Personal {
  readonly sequence: number
  /** The whole body, with everything sealed in it. */
  readonly isBody: boolean
  /** Digests of the sealed fields. */
  readonly digests: readonly string[]
  /** A document that names the person, as this entry does. */
  readonly naming?: NamingDocument | undefined
}

/** A token for the person's activity is removed; a hold and an erasure lose their subject. */
export interface NamingDocument {
  readonly kind: "token" | "erasure" | "hold"
  readonly id: string
}

export interface SubjectSource {
  readonly journal: Pick<JournalReader, "at">
  readonly search: Pick<Finder, "find">
  /** Resolves when a search covers all recorded entries. */
  readonly file: (workspace: string) => Promise<void>
}

export interface PersonSource extends SubjectSource {
  /** Lets others run: checking an entry takes up to some milliseconds. */
  readonly pace: Pace
}

export interface SubjectAsked {
  readonly workspace: string
  readonly subject: Person
  readonly scope: ErasureScope
  /** The entries after the first and up to the last of these sequences. */
  readonly after: number
  readonly upTo: number
}

/** Sequences in one question to the search. */
const foundAtOnce = 1000

/** In the order of their sequences, in batches. */
export async function* personalEntries(
  { journal, pace, ...finding }: PersonSource,
  { workspace, subject, scope, after, upTo }: SubjectAsked,
): AsyncGenerator<readonly Personal[]> {
  const bounds = { firstSequence: after + 1, lastSequence: upTo }
  const found = new Set<number>()
  for (const wanted of searchesFor(subject))
    for await (const some of sequencesOf(finding, workspace, { ...wanted, ...bounds }))
      for (const sequence of some) found.add(sequence)
  const sequences = [...Float64Array.from(found).sort()]
  for await (const entries of entriesInBatches(journal, workspace, sequences)) {
    const personal: Personal[] = []
    for (const entry of entries) {
      if (pace.isUp()) await pace.next()
      const one = personalIn(entry, subject, scope)
      if (one !== undefined) personal.push(one)
    }
    yield personal
  }
}

/** All sequences that a search finds, newest first. */
export async function* sequencesOf(
  { search, file }: Omit<SubjectSource, "journal">,
  workspace: string,
  wanted: Wanted,
): AsyncGenerator<readonly number[]> {
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    let hits = await search.find(workspace, wanted, before, foundAtOnce)
    for (; hits === undefined; hits = await search.find(workspace, wanted, before, foundAtOnce))
      await file(workspace)
    yield hits.sequences
    before = hits.sequences.at(-1) ?? 0
    if (!hits.hasMore || before === 0) return
  }
}

/**
 * Searches for entries that may be about the person. They ignore case, so they find more than exact
 * matches.
 */
function searchesFor({ id }: Person): readonly Wanted[] {
  const value = shortened(id)
  const isPrefix = value.length < id.length
  const terms: Term[] = (["actor", "target"] as const).map((field) => {
    return { kind: "field", not: false, field, value, isPrefix }
  })
  const words = wordsOf(value)
  const named: Term[] =
    words.length === 0 ? [] : [{ kind: "text", not: false, words, isPrefix: true }]
  return [
    ...terms.map((term) => ({ system: "with", query: { terms: [term] } }) as const),
    ...named.map((term) => ({ system: "only", query: { terms: [term] } }) as const),
  ]
}

/** The longest value in a search. The cut does not split a character. */
const valueMax = 500

function shortened(id: string): string {
  if (id.length <= valueMax) return id
  const cut = id.toLowerCase().slice(0, valueMax)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

/** Undefined if nothing of the entry must be destroyed, or nothing is left. */
function personalIn(
  entry: Stored | undefined,
  subject: Person,
  scope: ErasureScope,
): Personal | undefined {
  const body = entry && intactBody(entry)
  if (entry === undefined || body === undefined) return undefined
  const { sequence } = entry
  const isOwn = body["projectId"] === systemProject
  const isActor = isSubject(body["actor"], subject)
  const isTarget = isSubject(body["target"], subject)
  const kind = parseRecord(entry.record)?.kind
  const token = scope === "entries" && isOwn ? tokenIn(body) : undefined
  const naming = token?.person === subject.id ? token.naming : undefined
  if (naming !== undefined) return { sequence, isBody: true, digests: [], naming }
  if (scope === "entries" && (isActor || isTarget) && (kind === "event" || kind === "consent"))
    return { sequence, isBody: true, digests: disclosuresFor(entry, "all").map(disclosureDigest) }
  const disclosures = [
    ...(isActor ? disclosuresFor(entry, "actor") : []),
    ...(isTarget ? disclosuresFor(entry, "target") : []),
  ]
  if (isOwn && !isTarget) {
    const named = namedIn(entry, body, subject, scope)
    if (named.length > 0) {
      const digests = [...disclosures, ...named].map(disclosureDigest)
      return { sequence, isBody: false, digests, naming: documentIn(body) }
    }
  }
  return disclosures.length === 0
    ? undefined
    : { sequence, isBody: false, digests: disclosures.map(disclosureDigest) }
}

function isSubject(party: Json | undefined, { id, types }: Person): boolean {
  if (!isJsonObject(party) || party["id"] !== id) return false
  const { type } = party
  return types === undefined || (typeof type === "string" && types.includes(type))
}

const tokenActs: readonly Json[] = ["security.token.create", "security.token.revoke"]

interface NamingToken {
  readonly person: Json | undefined
  readonly naming: NamingDocument
}

/** The token for a person's activity that an entry of the service is about. */
function tokenIn({ action, target, metadata }: JsonObject): NamingToken | undefined {
  if (!tokenActs.includes(action ?? null) || !isJsonObject(target)) return undefined
  const bound = isJsonObject(metadata) ? metadata["subject"] : undefined
  const { id } = target
  if (!isJsonObject(bound) || typeof id !== "string") return undefined
  return { person: bound["id"], naming: { kind: "token", id } }
}

/** The document that names the person as this entry does, of which these digests are destroyed. */
export function namingOf(
  entry: Stored,
  { isBody, digests }: Pick<Personal, "isBody" | "digests">,
): NamingDocument | undefined {
  if (parseRecord(entry.record)?.kind !== "admin") return undefined
  const body = intactBody(entry)
  if (body === undefined) return undefined
  if (isBody) return tokenIn(body)?.naming
  const named = disclosuresFor(entry, "target").map(disclosureDigest)
  return named.some((digest) => digests.includes(digest)) ? documentIn(body) : undefined
}

export const requestAction = "privacy.erasure.request"

/** The erasure or the hold that this entry begins. */
function documentIn({ action, target }: JsonObject): NamingDocument | undefined {
  const id = isJsonObject(target) ? target["id"] : undefined
  const kind =
    action === requestAction ? "erasure" : action === "policy.hold.place" ? "hold" : undefined
  return kind === undefined || typeof id !== "string" ? undefined : { kind, id }
}

/**
 * Sealed fields of an entry of the service that name the person: a look-up of consents, the filter
 * of an export. A hold and a request to erase `fields` keep their subject as long as other entries
 * have the id.
 */
function namedIn(
  entry: Stored,
  body: JsonObject,
  { id }: Person,
  scope: ErasureScope,
): readonly string[] {
  if (scope === "fields" && documentIn(body) !== undefined) return []
  const names = (value: Json | undefined, isSearch = false): boolean => {
    // A search finds the person in any case.
    if (typeof value === "string")
      return isSearch ? isNamedIn(value.toLowerCase(), id.toLowerCase()) : isNamedIn(value, id)
    if (typeof value !== "object" || value === null) return false
    return Object.entries(value).some(([name, member]: [string, Json]) =>
      names(member, name === "query"),
    )
  }
  return disclosuresFor(entry, "target").filter((one) => names(parseDisclosure(one)?.value))
}

/** The text may be a search, such as `actor:usr_1 action:"a b"`. */
function isNamedIn(text: string, id: string): boolean {
  return partsOfSearch.test(id) ? text.includes(id) : text.split(partsOfSearch).includes(id)
}

const partsOfSearch = /[\s":*]+/
