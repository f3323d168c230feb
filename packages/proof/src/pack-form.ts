import { canonicalize, parseCanonical } from "./canonical.ts"
import { fromHex, isoTime, toHex } from "./encoding.ts"
import { fieldsWith } from "./entry-fields.ts"
import { definedOf, isJsonObject, type Json, type JsonObject } from "./json.ts"
import { csvLine } from "./pack-csv.ts"
import type { RecordFields } from "./record.ts"
import { bodySaltBytes } from "./body.ts"
import { isSize } from "./tree.ts"

/**
 * An evidence pack: entries of one ledger, with all that is needed to check them without the
 * service. It is a ZIP (see zip.ts) of
 *
 *     manifest.json                 path → SHA-256, in hex, of every file but itself, `seal.*` and `disclosures/`; canonical JSON
 *     genesis.json                  what hashes to the ledgerId
 *     epochs/<n>/genesis.json       the same of each ledger that this one goes on from, oldest first; absent where it goes on from none
 *     log.vkey  policy.txt          the key that signs, and a C2SP tlog-policy that trusts it
 *     checkpoint                    the signed note that every proof leads to
 *     proofs/<receipt>.tlog-proof   the record of an entry, and its way to that checkpoint
 *     bodies/NNN.jsonl              {"body","index","salt"}: 256 entries in each, in the order of the chain
 *     disclosures/NNN.jsonl         {"d","index"}: the sealed fields of the same entries that may be seen; absent where there are none
 *     receipts.jsonl                a line for each entry: its receipt, without what is sealed
 *     entries.csv                   the same entries for people and spreadsheets, without what is sealed
 *     policies/<projectId>/<n>.json the published policies that the entries name
 *     README.txt                    for people
 *     verify.html                   a program that checks the pack in a browser; absent from packs of before
 *     seal.json                     {"body","index","salt"} of the ledger's own entry about this pack; it says SHA-256(manifest.json)
 *     seal.tlog-proof               that this entry stands in the same ledger
 *
 * Only an erasure changes a pack: it removes lines from `disclosures/`, so no other file may depend
 * on them. The functions below derive all files from records and bodies, both for making and for
 * checking a pack.
 */
export const packPaths = {
  manifest: "manifest.json",
  genesis: "genesis.json",
  vkey: "log.vkey",
  policy: "policy.txt",
  checkpoint: "checkpoint",
  receipts: "receipts.jsonl",
  table: "entries.csv",
  readme: "README.txt",
  seal: "seal.json",
  sealProof: "seal.tlog-proof",
} as const

/** The verifier in a pack. Older packs have none. */
export const packVerifierPath = "verify.html"

/** Action of the entry that seals a pack. */
export const packAction = "evidence.pack.create"

/** The form of packs, in the `metadata` of their entries. A pack of another form is not read. */
export const packForm = 2

/** Entries in one file of bodies. */
export const packGroup = 256

/**
 * Path of the ledger's `number`th earlier epoch: a pack has its genesis only, an export has all
 * that is kept.
 */
export function epochPath(number: number, path: string): string {
  return `epochs/${number}/${path}`
}

export function proofPath(receipt: string): string {
  return `proofs/${receipt}.tlog-proof`
}

export function bodiesPath(group: number): string {
  return `bodies/${groupName(group)}`
}

export function disclosuresPath(group: number): string {
  return `disclosures/${groupName(group)}`
}

export function policyPath(projectId: string, version: number): string {
  return `policies/${projectId}/${version}.json`
}

/** Whether a file's hash is in the manifest. */
export function isListed(path: string): boolean {
  return (
    path !== packPaths.manifest && !path.startsWith("seal.") && !path.startsWith("disclosures/")
  )
}

export function formatManifest(hashes: ReadonlyMap<string, string>): string {
  return canonicalize(Object.fromEntries(hashes))
}

/** A tlog-policy of one log and no witnesses. */
export function formatTrustPolicy(vkey: string): string {
  return `log ${vkey}\nquorum none\n`
}

/** The hashed body of an entry, with its salt. */
export type BodyLine = { readonly index: number; readonly salt: Uint8Array; readonly body: string }

/** A line of `bodies/`, without its newline. */
export function formatBodyLine({ index, salt, body }: BodyLine): string {
  return canonicalize({ body, index, salt: toHex(salt) })
}

/** Undefined unless `formatBodyLine` writes the same text. */
export function parseBodyLine(text: string): BodyLine | undefined {
  const line = parseCanonical(text)
  if (!isJsonObject(line)) return undefined
  const { body, index, salt: saltText, ...others } = line
  const salt = typeof saltText === "string" ? fromHex(saltText) : undefined
  if (
    typeof body !== "string" ||
    !isSize(index) ||
    salt?.length !== bodySaltBytes ||
    Object.keys(others).length > 0
  )
    return undefined
  return { index, salt, body }
}

export type DisclosureLine = { readonly index: number; readonly disclosures: readonly string[] }

export function formatDisclosureLine({ index, disclosures }: DisclosureLine): string {
  return canonicalize({ d: disclosures, index })
}

/** Undefined unless `formatDisclosureLine` writes the same text, with at least one disclosure. */
export function parseDisclosureLine(text: string): DisclosureLine | undefined {
  const line = parseCanonical(text)
  if (!isJsonObject(line)) return undefined
  const { d, index, ...others } = line
  if (!Array.isArray(d) || d.length === 0 || !isSize(index) || Object.keys(others).length > 0)
    return undefined
  // Array.isArray makes any[] of it; its items are Json.
  const disclosures = d as readonly Json[]
  return disclosures.every((one) => typeof one === "string") ? { index, disclosures } : undefined
}

/** An entry from record and body, without sealed fields. */
export type PackEntry = {
  readonly record: RecordFields
  readonly eventHash: string
  readonly sequence: number
  readonly body: JsonObject
}

/** The receipt of the API, without the members that depend on the caller or the time. */
export function formatReceiptLine({ record, eventHash, body }: PackEntry): string {
  const { id, actor, target, keyId } = body
  return canonicalize(
    definedOf({
      accepted: true,
      eventId: id,
      eventHash,
      previousHash: toHex(record.previousHash),
      timestamp: isoTime(record.timeMs),
      actor: open(actor),
      target: open(target),
      ...Object.fromEntries(repeated.map((name) => [name, body[name]])),
      provenance: keyId === undefined ? undefined : { keyId },
    }),
  )
}

const repeated = fieldsWith("shown", "receipt and entry")

export function formatTableHeader(): string {
  return csvLine(columns.map(([name]) => name))
}

export function formatTableRow(entry: PackEntry): string {
  return csvLine(columns.map(([, valueOf]) => cellOf(valueOf(entry))))
}

/** A published version of a policy, in the form of a pack. */
export type PackPolicy = {
  readonly id: string
  readonly projectId: string
  readonly version: number
  readonly publishedAt: string
  readonly sectionHash: string
  readonly sections: readonly JsonObject[]
}

export function formatPolicy({
  id,
  projectId,
  version,
  publishedAt,
  sectionHash,
  sections,
}: PackPolicy): string {
  return canonicalize({ id, projectId, version, publishedAt, sectionHash, sections })
}

const columns: readonly (readonly [string, (entry: PackEntry) => Json | undefined])[] = [
  ["sequence", ({ sequence }) => sequence],
  ["timestamp", ({ record }) => isoTime(record.timeMs)],
  ["occurredAt", ({ body }) => body["occurredAt"]],
  ["kind", ({ record }) => record.kind],
  ["projectId", ({ body }) => body["projectId"]],
  ["action", ({ body }) => body["action"]],
  ["lane", ({ body }) => body["lane"]],
  ["source", ({ body }) => body["source"]],
  ["actor.id", ({ body }) => memberOf(body["actor"], "id")],
  ["actor.type", ({ body }) => memberOf(body["actor"], "type")],
  ["target.id", ({ body }) => memberOf(body["target"], "id")],
  ["target.type", ({ body }) => memberOf(body["target"], "type")],
  ["target.name", ({ body }) => memberOf(body["target"], "name")],
  ["userVisible", ({ body }) => body["userVisible"]],
  ["policyVersion", ({ body }) => body["policyVersion"]],
  ["metadata", ({ body }) => open(body["metadata"])],
  ["receivedAt", ({ body }) => body["receivedAt"]],
  ["eventId", ({ body }) => body["id"]],
  ["receipt", ({ body }) => body["receipt"]],
  ["eventHash", ({ eventHash }) => eventHash],
  ["previousHash", ({ record }) => toHex(record.previousHash)],
]

function groupName(group: number): string {
  return `${String(group).padStart(3, "0")}.jsonl`
}

/** Without the digests of sealed fields. */
function open(value: Json | undefined): Json | undefined {
  // A copy of thousands of members takes as long as writing them.
  if (!isJsonObject(value) || !Object.hasOwn(value, "_sd")) return value
  const { _sd: _, ...members } = value
  return members
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isJsonObject(value) ? value[name] : undefined
}

function cellOf(value: Json | undefined): string {
  if (value === undefined) return ""
  return typeof value === "string" ? value : canonicalize(value)
}
