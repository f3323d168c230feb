import { isoTime, toHex } from "./encoding.ts"
import { fieldsWith } from "./entry-fields.ts"
import { definedOf, equalJson, isJsonObject, type Json, type JsonObject } from "./json.ts"
import type { RecordFields } from "./record.ts"

/**
 * Compares the receipt and the entry that the API shows with the hashed values. A server can write
 * anything into those two objects. Only fields that match record and body prove something.
 *
 * A shown field must equal the hashed one. Fields may be absent, because readers have different
 * rights; but from `actor`, `target`, and `metadata` only sealed ones may be. An e-mail may be
 * replaced by its mask. If the e-mail is withheld, nothing can confirm the mask: it is listed as
 * uncovered, like unknown fields and those that no hash covers, such as the storage class. A value
 * that is shown twice must be the same.
 */
export type Hashed = {
  readonly record: RecordFields
  readonly eventHash: Uint8Array
  readonly sequence: number
  /** The hashed body, and the body with its disclosed claims; undefined if the body was removed. */
  readonly content?: Content
}

export type Content = {
  readonly body: JsonObject
  readonly opened: JsonObject
  /** Digests with a disclosure. */
  readonly disclosed: ReadonlySet<string>
}

export type Comparison = { readonly difference?: Difference; readonly uncovered: readonly string[] }

/**
 * A place where the shown value differs from the hashed one. Objects and absent values are left
 * out.
 */
export type Difference = {
  readonly field: string
  readonly expected?: string
  readonly found?: string
}

export function compareShown(
  receipt: object | undefined,
  entry: object | undefined,
  hashed: Hashed,
): Comparison {
  const comparisons = [
    receipt && compareReceipt(receipt, hashed),
    entry && compareEntry(entry, hashed),
  ].filter((one) => one !== undefined)
  const uncovered = comparisons.flatMap((one) => one.uncovered)
  const difference =
    comparisons.find((one) => one.difference)?.difference ??
    (receipt && entry && contradiction(receipt, entry, uncovered))
  return { uncovered, ...(difference && { difference }) }
}

/** Fields without a hash that both receipt and entry show. */
const shownTwice = [
  ["receipt.storageClass", "entry.storageTier"],
  ["receipt.actor.email", "entry.actor.email"],
  ["receipt.target.email", "entry.target.email"],
] as const

/** Fields without a hash must still have their form. */
const uncoveredForms: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["receipt.storageClass", isAge],
  ["entry.storageTier", isAge],
  ["receipt.queued", (value: unknown) => typeof value === "boolean"],
])

function isAge(value: unknown): boolean {
  return value === "hot" || value === "archive"
}

function contradiction(
  receipt: object,
  entry: object,
  uncovered: readonly string[],
): Difference | undefined {
  const valueAt = (path: string): unknown =>
    path.split(".").reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], {
      receipt,
      entry,
    })
  for (const paths of shownTwice) {
    if (!paths.every((path) => uncovered.includes(path))) continue
    const [one, other] = paths.map(valueAt)
    if (one !== other) return { field: paths[1], ...texts(one, other) }
  }
  return undefined
}

function compareReceipt(shown: object, hashed: Hashed): Comparison {
  const body = hashed.content?.opened
  const fields = commonFields(hashed)
    .set("eventId", body?.["id"])
    .set("eventHash", toHex(hashed.eventHash))
    .set("accepted", true)
  const { uncovered, difference = wrongAddress(shown, body) } = compare(
    "receipt",
    shown,
    fields,
    hashed,
  )
  return { uncovered, ...(difference && { difference }) }
}

function compareEntry(shown: object, hashed: Hashed): Comparison {
  const body = hashed.content?.opened
  const fields = commonFields(hashed)
    .set("hash", toHex(hashed.eventHash))
    .set("kind", hashed.record.kind)
  for (const name of inEntry) fields.set(name, body?.[name])
  return compare("entry", shown, fields, hashed)
}

/** No hash covers the service's address, but the link must lead to this receipt. */
function wrongAddress(shown: object, body: JsonObject | undefined): Difference | undefined {
  const url: unknown = "verificationUrl" in shown ? shown.verificationUrl : undefined
  const { workspaceId, receipt } = body ?? {}
  if (url === undefined || typeof workspaceId !== "string" || typeof receipt !== "string")
    return undefined
  const end = `/v1/workspaces/${workspaceId}/receipts/${receipt}`
  if (
    typeof url === "string" &&
    /^https?:\/\/[^\s/?#@\\][^\s?#@\\]*$/.test(url) &&
    url.endsWith(end)
  )
    return undefined
  return { field: "receipt.verificationUrl", ...texts(`an address that ends with ${end}`, url) }
}

/** The mask of an e-mail: its first character and its domain. */
export function maskEmail(email: string): string {
  const [first = ""] = email
  const at = email.lastIndexOf("@")
  return `${first}•••${at < 0 ? "" : email.slice(at)}`
}

const inEntry = fieldsWith("shown", "entry")
const inBoth = fieldsWith("shown", "receipt and entry")
const partyFields = ["actor", "target"]
// Members that the API adds to an entry. They are the proof itself, and no content.
const evidence: ReadonlySet<string> = new Set(["proof", "disclosures"])

type Fields = Map<string, Json | undefined>

function commonFields({ record, sequence, content }: Hashed): Fields {
  return new Map<string, Json | undefined>([
    ["sequence", sequence],
    ["previousHash", toHex(record.previousHash)],
    ["timestamp", isoTime(record.timeMs)],
    ...inBoth.map((name) => [name, content?.opened[name]] as const),
  ])
}

function compare(prefix: string, shown: object, fields: Fields, { content }: Hashed): Comparison {
  const uncovered: string[] = []
  for (const [name, value] of membersOf(shown)) {
    const path = `${prefix}.${name}`
    const nested = nestedFields(name, content)
    if (nested) {
      const comparison = compareNested(path, value, nested)
      if (comparison.difference) return comparison
      uncovered.push(...comparison.uncovered)
    } else if (fields.has(name) && (content || fields.get(name) !== undefined)) {
      const expected = fields.get(name)
      if (expected === undefined || !equalJson(expected, value))
        return { difference: difference(path, expected, value), uncovered }
    } else if (uncoveredForms.get(path)?.(value) === false) {
      return { difference: difference(path, undefined, value), uncovered }
    } else if (!evidence.has(name)) {
      uncovered.push(path)
    }
  }
  return { uncovered }
}

/**
 * Rules for a shown object: the values of its members, the required members, and whether its e-mail
 * is withheld.
 */
type Nested = {
  readonly expected: JsonObject
  readonly required: readonly string[]
  readonly emailWithheld: boolean
}

function nestedFields(name: string, content: Content | undefined): Nested | undefined {
  if (!content) return undefined
  const { body, opened, disclosed } = content
  if (partyFields.includes(name)) {
    const { other, ...party } = objectAt(opened, name)
    const { _sd: digests = [], ...open } = objectAt(body, name)
    const withheld =
      Array.isArray(digests) && digests.some((digest) => !disclosed.has(digest as string))
    const expected = isJsonObject(other) ? { ...other, ...party } : objectAt(opened, name)
    return {
      expected,
      required: Object.keys(open),
      emailWithheld: withheld && party["email"] === undefined,
    }
  }
  if (name === "metadata") {
    const { _sd: _, ...open } = objectAt(body, name)
    return { expected: objectAt(opened, name), required: Object.keys(open), emailWithheld: false }
  }
  if (name === "provenance") {
    const { keyId } = opened
    return {
      expected: { ...objectAt(opened, "context"), ...(keyId !== undefined && { keyId }) },
      required: [],
      emailWithheld: false,
    }
  }
  return undefined
}

function compareNested(
  path: string,
  shown: unknown,
  { expected, required, emailWithheld }: Nested,
): Comparison {
  const uncovered: string[] = []
  if (typeof shown !== "object" || shown === null || Array.isArray(shown))
    return { difference: difference(path, undefined, shown), uncovered }
  const members = membersOf(shown)
  for (const [name, value] of members) {
    const member = Object.hasOwn(expected, name) ? expected[name] : undefined
    if (member !== undefined && equalJson(member, value)) continue
    if (name === "email" && typeof member === "string" && value === maskEmail(member)) continue
    if (name === "email" && emailWithheld && isMask(value)) uncovered.push(`${path}.${name}`)
    else return { difference: difference(`${path}.${name}`, member, value), uncovered }
  }
  const missing = required.find((name) => !members.some(([shownName]) => shownName === name))
  if (missing !== undefined)
    return { difference: difference(`${path}.${missing}`, expected[missing], undefined), uncovered }
  return { uncovered }
}

/** An undefined member counts as not shown: JSON would drop it. */
function membersOf(shown: object): [string, unknown][] {
  return Object.entries(shown).filter(([, value]) => value !== undefined)
}

function isMask(value: unknown): boolean {
  return typeof value === "string" && /^.?•••(?:@[^@]*)?$/su.test(value)
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const member = object[name]
  return isJsonObject(member) ? member : {}
}

function difference(field: string, expected: Json | undefined, found: unknown): Difference {
  return { field, ...texts(expected, found) }
}

/** The values of a difference, as far as a text shows them. */
export function texts(expected: unknown, found: unknown): Omit<Difference, "field"> {
  return definedOf({ expected: printed(expected), found: printed(found) })
}

function printed(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined
}
