// The verdict about an answer with a receipt, in the words of the page. Everything in it is either
// recomputed from bytes here, or marked as stated by the server.

import {
  formatVkey,
  parseTlogProof,
  parseVkey,
  signerOf,
  toHex,
  verifyReceipt,
  type Check,
  type CheckName,
  type ReceiptOptions,
  type Refuted,
  type Verdict,
} from "@tallystick/proof"
import { attempt } from "../kept.ts"
import type { CheckRow, CheckState } from "../parts/checks.tsx"
import { number } from "../parts/counted.ts"
import {
  membersOf,
  recordedContent,
  type Members,
  type RecordedContent,
} from "../parts/recorded-content.ts"
import { publicKeyOf } from "../public-key.ts"
import type { TrustedKey } from "../trusted-keys.ts"

/**
 * `pending`: recorded, and no checkpoint covers it yet. `unsealed`: so it stayed, as at the end of
 * a former epoch. `gone`: the record is intact, and its content was destroyed. `unproven`: there is
 * nothing to compute from.
 */
export type Outcome =
  | "genuine"
  | "unconfirmed"
  | "pending"
  | "unsealed"
  | "gone"
  | "unproven"
  | "broken"

/** A checkpoint is signed within a second. After this time none may ever be. */
const pendingMsMax = 60_000

export interface ReceiptReading {
  readonly outcome: Outcome
  readonly verdict: Verdict
  readonly checks: readonly CheckRow[]
  readonly sequence?: number
  /** When the ledger recorded it, as hashed. */
  readonly recordedAt?: string
  /** The hash that was computed, and the one that the receipt names. */
  readonly hash?: string
  readonly namedHash?: string
  readonly previousHash?: string
  /** The key that signed, and the one that the reader trusts, if it did. */
  readonly vkey?: string
  readonly trusted?: TrustedKey
  readonly size?: number
  readonly origin?: string
  /** The hashes from the entry's sibling up to the root's child. */
  readonly steps: readonly string[]
  readonly content: RecordedContent
  /** Members of the answer that no hash covers, with their values. */
  readonly stated: readonly (readonly [path: string, value: unknown])[]
}

/** `text` is the answer as it was sent, because only there a duplicate member is visible. */
export function readReceipt(
  text: string,
  trusted: readonly TrustedKey[],
  nowMs: number,
  asked: Pick<ReceiptOptions, "receiptId" | "workspaceId"> = {},
): ReceiptReading {
  const trustedKeys = trusted.map(({ vkey }) => vkey)
  const verdict = verifyReceipt(text, { trustedKeys, ...asked })
  const answer = membersOf(attempt((): unknown => JSON.parse(text))) ?? {}
  const [receipt, entry, proof] = ["receipt", "entry", "proof"].map((name) =>
    membersOf(answer[name]),
  )
  const log = logOf(proof?.["tlogProof"])
  const outcome = outcomeOf(verdict, nowMs)
  const signed = keyOf(verdict, trustedKeys, proof?.["vkey"])
  const namedHash = receipt?.["eventHash"] ?? entry?.["hash"]
  const { record, eventHash, checkpoint } = verdict
  const pinned = trusted.find(({ vkey }) => vkey === signed)
  const hashed = verdict.verdict === "refuted" ? undefined : verdict.content
  const claimed = outcome === "broken" || outcome === "unproven" ? (entry ?? {}) : undefined
  const shown = hashed ?? claimed
  return {
    outcome,
    verdict,
    ...placeOf(verdict),
    ...(eventHash !== undefined && { hash: eventHash }),
    ...(typeof namedHash === "string" && { namedHash }),
    ...(record && { previousHash: toHex(record.previousHash) }),
    ...(signed !== undefined && { vkey: signed }),
    ...(pinned && verdict.verdict === "genuine" && { trusted: pinned }),
    ...(checkpoint && { size: checkpoint.size, origin: checkpoint.origin }),
    steps: (log?.hashes ?? []).map((hash) => toHex(hash)),
    // The hashed values. The page shows the claims of the answer only where it calls them so.
    content: recordedContent(
      shown ?? {},
      { kind: record?.kind, withheld: verdict.withheld },
      shown ? [entry ?? {}, receipt ?? {}] : [],
    ),
    stated: verdict.uncovered.map((path) => [path, valueAt(answer, path)] as const),
    checks: checksOf(verdict, signed, log?.hashes.length ?? 0),
  }
}

function placeOf({ record, sequence }: Verdict): Pick<ReceiptReading, "sequence" | "recordedAt"> {
  if (record === undefined) return {}
  const time = new Date(record.timeMs)
  return {
    sequence: sequence ?? record.index + 1,
    ...(!Number.isNaN(time.getTime()) && { recordedAt: time.toISOString() }),
  }
}

function outcomeOf(verdict: Verdict, nowMs: number): Outcome {
  if (verdict.verdict === "genuine") return "genuine"
  if (verdict.verdict === "refuted") return "broken"
  switch (verdict.because) {
    case "key_not_trusted":
      return "unconfirmed"
    case "not_sealed":
      return nowMs - (verdict.record?.timeMs ?? 0) > pendingMsMax ? "unsealed" : "pending"
    case "content_missing":
      return "gone"
    case "proof_missing":
      return "unproven"
  }
}

// Checks ------------------------------------------------------------------------------------------

/** The check that a failure belongs to, as the page groups them. */
const groups = {
  Content: ["record", "content", "canonical", "disclosures", "epochs", "receipt", "kept"],
  Link: ["link"],
  Inclusion: ["inclusion"],
  Signature: ["checkpoint"],
  Server: ["integrity"],
  Key: ["key"],
} as const satisfies Readonly<Record<string, readonly CheckName[]>>

function checksOf(verdict: Verdict, vkey: string | undefined, steps: number): readonly CheckRow[] {
  const { checkpoint, eventHash, checks } = verdict
  const signer = verdict.signatures && vkey
  const state = (group: keyof typeof groups): CheckState => stateOf(checks, groups[group])
  const wrong = verdict.verdict === "refuted" ? verdict : undefined
  const differs = (group: keyof typeof groups) => differenceIn(wrong, checks, groups[group])
  const row = (name: keyof typeof groups, says: string, hash?: string): CheckRow => ({
    name,
    state: state(name),
    says,
    ...(hash !== undefined && { hash }),
    ...recomputed(state(name)),
    ...differs(name),
  })
  const size = checkpoint && number(checkpoint.size)
  const content = state("Content")
  const isGone = content === "intact" && verdict.content === undefined
  return [
    {
      name: "Content",
      state: wrong?.failure === "malformed" ? "broken" : isGone ? "undone" : content,
      says: contentSentence(wrong, content, isGone),
      ...(eventHash !== undefined && content === "intact" && { hash: eventHash }),
      ...recomputed(isGone ? "undone" : content),
      ...differs("Content"),
    },
    {
      ...linkRow(verdict, content, state("Link")),
      ...differs("Link"),
    },
    row(
      "Inclusion",
      inclusionSentence(verdict, state("Inclusion"), steps, size),
      checkpoint && toHex(checkpoint.root),
    ),
    row("Signature", signatureSentence(state("Signature"), signer), signer && publicKeyOf(signer)),
    ...(state("Server") === "broken"
      ? [
          {
            name: "Server",
            state: "broken" as const,
            says: "The server itself says that this entry fails its integrity check.",
            ...differs("Server"),
          },
        ]
      : []),
    keyRow(verdict, vkey),
  ]
}

function stateOf(checks: readonly Check[], names: readonly CheckName[]): CheckState {
  const done = checks.filter(({ name }) => names.includes(name))
  if (done.some(({ ok }) => !ok)) return "broken"
  return done.length === 0 ? "undone" : "intact"
}

function recomputed(state: CheckState): { readonly where?: string } {
  return state === "undone" ? {} : { where: "recomputed" }
}

function differenceIn(
  wrong: Refuted | undefined,
  checks: readonly Check[],
  names: readonly CheckName[],
): Pick<CheckRow, "expected" | "found"> {
  const failed = checks.find(({ ok }) => !ok)?.name
  if (wrong === undefined || failed === undefined || !names.includes(failed)) return {}
  return {
    ...(wrong.expected !== undefined && { expected: wrong.expected }),
    ...(wrong.found !== undefined && { found: wrong.found }),
  }
}

function contentSentence(wrong: Refuted | undefined, state: CheckState, isGone: boolean): string {
  if (wrong !== undefined && (state === "broken" || wrong.failure === "malformed"))
    return failureSentence(wrong)
  if (state === "undone") return "There is nothing to recompute."
  return isGone
    ? "The record is intact. Its content is missing, as after its retention."
    : "SHA-256 of the entry is the hash that the receipt names."
}

/** The text of a failure, with the field if there is one. */
export function failureSentence({ failure, field }: Pick<Refuted, "failure" | "field">): string {
  const where = field === undefined ? "" : ` (${field})`
  switch (failure) {
    case "malformed":
    case "record":
      return `The answer does not have the form of a ledger's answer${where}.`
    case "content":
      return `The content is not what the record commits to${where}.`
    case "canonical":
      return `The content is ambiguous: parsers could read it differently${where}.`
    case "disclosure":
      return `A disclosed field matches no digest in the content${where}.`
    case "epochs":
      return `The ledger does not continue the one that it names${where}.`
    case "receipt":
      return `What is shown is not what was hashed${where}.`
    case "lost":
      return "It was recorded, but a restored ledger continues without it."
    case "origin":
    case "signature":
      return "The checkpoint is not signed by the key of its log."
    case "inclusion":
      return "The steps from the entry do not lead to the signed root."
    case "link":
      return "Its previous hash is not that of the entry before it."
    case "integrity":
      return `The server's own statement differs from the proof${where}.`
  }
}

/**
 * Every other entry has the one before it as its sibling in the tree: there the link is checked as
 * well.
 */
function linkRow({ record }: Verdict, content: CheckState, link: CheckState): CheckRow {
  const name = "Link"
  if (content !== "intact" || record === undefined)
    return { name, state: "undone", says: "Not checked." }
  return {
    name,
    state: link === "broken" ? link : "intact",
    says: linkSentence(record.index, link),
    hash: toHex(record.previousHash),
    where: "recomputed",
  }
}

function linkSentence(index: number, link: CheckState): string {
  if (link === "broken") return failureSentence({ failure: "link" })
  if (link === "intact") return "Its previous hash is that of the entry before it."
  return index === 0
    ? "It is the first, and names its ledger."
    : "Its hash covers the hash of the entry before it."
}

function inclusionSentence(
  verdict: Verdict,
  state: CheckState,
  steps: number,
  size: string | undefined,
): string {
  if (verdict.verdict === "unconfirmed" && verdict.because === "not_sealed")
    return "No signed checkpoint covers it."
  if (state === "undone") return "Not checked."
  if (state === "broken") return failureSentence({ failure: "inclusion" })
  const climbed = steps === 1 ? "1 step leads" : `${steps} steps lead`
  const root = size === undefined ? "signed root" : `root of the checkpoint over ${size} entries`
  return `${climbed} from the entry to the ${root}.`
}

function signatureSentence(state: CheckState, vkey: string | undefined): string {
  if (state === "undone") return "Not checked."
  if (state === "broken") return failureSentence({ failure: "signature" })
  return `Ed25519 signature over that root${vkey === undefined ? "" : ` by key ${keyIdOf(vkey)}`}.`
}

function keyRow(verdict: Verdict, vkey: string | undefined): CheckRow {
  const name = "Key"
  const check = verdict.checks.find((each) => each.name === "key")
  if (vkey === undefined || check === undefined)
    return { name, state: "undone", says: "Not checked." }
  const hash = publicKeyOf(vkey)
  if (check.ok)
    return { name, state: "intact", says: "It is a key that you trust.", hash, where: "pinned" }
  return {
    name,
    state: "attention",
    says: "It came from this same server. Compare it once with a copy that you trust.",
    hash,
  }
}

// Keys --------------------------------------------------------------------------------------------

/** Eight hex digits. */
export function keyIdOf(vkey: string): string {
  return /\+([0-9a-f]{8})\+/.exec(vkey)?.[1] ?? ""
}

/** The key that signed, or else the one that the answer names. */
function keyOf(
  verdict: Verdict,
  trustedKeys: readonly string[],
  named: unknown,
): string | undefined {
  const key = signerOf(verdict, trustedKeys)
  if (key !== undefined) return formatVkey(key)
  return typeof named === "string" && parseVkey(named) !== undefined ? named : undefined
}

function logOf(tlogProof: unknown) {
  return typeof tlogProof === "string" ? parseTlogProof(tlogProof) : undefined
}

// The answer as unchecked values ------------------------------------------

function valueAt(answer: Members, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => membersOf(value)?.[name], answer)
}
