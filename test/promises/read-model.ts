// The meaning of reads, written from docs/api.md alone, as plain loops over all writes. It shares
// no code with the product, not even its idea of a word.

/** Whose secret a value is. */
type Owner = "nobody" | "actor" | "target"

export interface Value {
  /** The field names that find it in a search. */
  readonly names: readonly string[]
  readonly text: string
  /** Whether a term without a field looks at it. */
  readonly isPlain: boolean
  readonly owner: Owner
}

/** A write, as far as a reader can search for it. */
export interface Written {
  readonly key: string
  readonly kind: "event" | "consent"
  readonly body: Body
  readonly trace: string | undefined
  readonly sentMs: number
  /** What the receipt says. It is known when answers are judged. */
  acked?: {
    readonly atMs: number
    readonly eventId: string
    readonly receipt: string
    readonly eventHash: string
  }
  occurredNs: bigint
}

export interface Body {
  readonly projectId: string
  readonly action: string
  readonly actor: Party
  readonly target: Party
  readonly source: string
  readonly userVisible: boolean
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface Party {
  readonly id: string
  readonly type: string
  readonly name?: string
  readonly email?: string
}

export type Term = { readonly not: boolean; readonly isPrefix: boolean; readonly text: string } & (
  | { readonly words: readonly string[] }
  | { readonly field: string; readonly value: string }
)

/** The reader: a key, perhaps for some projects, or a person with an activity token for one. */
export type Reader =
  | { readonly kind: "key"; readonly projects?: readonly string[] }
  | {
      readonly kind: "person"
      readonly id: string
      readonly types: readonly string[]
      readonly project: string
    }

type Person = Extract<Reader, { kind: "person" }>

export interface Filter {
  readonly project?: string
  readonly lane?: string
  readonly userVisible?: boolean
  readonly fromNs?: bigint
  readonly toNs?: bigint
  readonly terms: readonly Term[]
}

/** The members of `metadata` that the workspace seals; they belong to the actor. */
export const sealedKey = "phone"

const lanes: Readonly<Record<string, string>> = {
  "billing.invoice.approve": "operations",
  "billing.invoice.reject": "operations",
  "auth.login": "security",
  "Session.create": "security",
  "document.share": "data",
  "stock.item.move": "operations",
  "dataset.open": "operations",
  "terms.accept": "policy",
  "policy.consent.record": "policy",
}
export const actions = Object.keys(lanes).slice(0, -1)

export function matches(
  written: Written,
  reader: Reader,
  { project, lane, userVisible, fromNs, toNs, terms }: Filter,
): boolean {
  const { body, occurredNs } = written
  if (!mayRead(written, reader)) return false
  if (project !== undefined && body.projectId !== project) return false
  if (lane !== undefined && lanes[body.action] !== lane) return false
  if (userVisible !== undefined && body.userVisible !== userVisible) return false
  if (fromNs !== undefined && occurredNs < fromNs) return false
  if (toNs !== undefined && occurredNs >= toNs) return false
  if (terms.length === 0) return true
  const all = valuesOf(written)
  const values =
    reader.kind === "key" ? all : all.filter(({ owner }) => isShown(owner, written, reader))
  return terms.every((term) => holds(term, terms, values))
}

function mayRead({ body }: Written, reader: Reader): boolean {
  if (reader.kind === "key")
    return reader.projects === undefined || reader.projects.includes(body.projectId)
  return (
    body.userVisible &&
    body.projectId === reader.project &&
    (isPerson(body.actor, reader) || isPerson(body.target, reader))
  )
}

function isShown(owner: Owner, { body }: Written, person: Person): boolean {
  return owner === "nobody" || isPerson(body[owner], person)
}

function isPerson(party: Party, reader: Person): boolean {
  return party.id === reader.id && reader.types.includes(party.type)
}

function holds(term: Term, terms: readonly Term[], values: readonly Value[]): boolean {
  if (term.not) return !values.some((value) => meets(term, value))
  const either =
    "field" in term
      ? terms.filter((other) => "field" in other && !other.not && other.field === term.field)
      : [term]
  return either.some((other) => values.some((value) => meets(other, value)))
}

function meets(term: Term, { names, text, isPlain }: Value): boolean {
  if ("field" in term) {
    if (!names.includes(term.field)) return false
    const [found, sought] = [text.toLowerCase(), term.value.toLowerCase()]
    return term.isPrefix ? found.slice(0, sought.length) === sought : found === sought
  }
  if (!isPlain) return false
  const words = wordsIn(text)
  for (let at = 0; at + term.words.length <= words.length; at++) {
    let agrees = true
    for (const [place, word] of term.words.entries()) {
      const found = words[at + place] ?? ""
      const isLast = place === term.words.length - 1
      if (!(isLast && term.isPrefix ? found.slice(0, word.length) === word : found === word))
        agrees = false
    }
    if (agrees) return true
  }
  return false
}

const split = new Map<string, readonly string[]>()

/** Runs of letters and digits, in lower case, with their combining marks. */
export function wordsIn(text: string): readonly string[] {
  const known = split.get(text)
  if (known !== undefined) return known
  const words: string[] = []
  let word = ""
  for (const character of text.toLowerCase()) {
    if (/[\p{L}\p{N}]/u.test(character) || (word !== "" && /\p{M}/u.test(character)))
      word += character
    else if (word !== "") {
      words.push(word)
      word = ""
    }
  }
  if (word !== "") words.push(word)
  split.set(text, words)
  return words
}

const listed = new WeakMap<Written, readonly Value[]>()

export function valuesOf(written: Written): readonly Value[] {
  const known = listed.get(written)
  if (known !== undefined) return known
  const { kind, body, trace, acked } = written
  const open = (names: string, text: string, isPlain: boolean): Value => ({
    names: names.split(" "),
    text,
    isPlain,
    owner: "nobody",
  })
  const values: Value[] = [
    open("action", body.action, true),
    open("lane", lanes[body.action] ?? "", false),
    open("project", body.projectId, false),
    open("source", body.source, false),
    open("kind", kind, false),
  ]
  for (const role of ["actor", "target"] as const) {
    const { id, type, name, email } = body[role]
    values.push(open(role, id, true), open("type", type, false))
    // The name of a policy is not secret.
    const owner = role === "target" && kind === "consent" ? "nobody" : role
    if (name !== undefined) values.push({ names: [role, "name"], text: name, isPlain: true, owner })
    if (email !== undefined)
      values.push({ names: [role, "email"], text: email, isPlain: true, owner })
  }
  for (const [name, value] of Object.entries(body.metadata))
    addMetadata(values, `metadata.${name}`, value, name === sealedKey ? "actor" : "nobody")
  if (trace !== undefined)
    values.push({ names: ["trace"], text: trace, isPlain: false, owner: "actor" })
  // Without a receipt yet it has no ids, and is not remembered so.
  if (acked === undefined) return values
  values.push(open("id", acked.eventId, true), open("receipt", acked.receipt, true))
  listed.set(written, values)
  return values
}

function addMetadata(values: Value[], name: string, value: unknown, owner: Owner): void {
  if (Array.isArray(value)) for (const item of value) addMetadata(values, name, item, owner)
  else if (typeof value === "object" && value !== null)
    for (const [member, inner] of Object.entries(value))
      addMetadata(values, `${name}.${member}`, inner, owner)
  else if (value !== null)
    values.push({
      names: [name],
      text: typeof value === "string" ? value : JSON.stringify(value),
      isPlain: true,
      owner,
    })
}
