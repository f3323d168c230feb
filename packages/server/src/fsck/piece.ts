// A piece of a chain, derived from its bytes alone: each record, its link, its body's hash, and the piece's own part of the tree. The first
// entry is held against the record before it as that is kept; whether that one is right, the piece before says.

import {
  bodyHash,
  bodySaltBytes,
  createFrontier,
  eventHash,
  fromUtf8,
  isJsonObject,
  openBody,
  parseJson,
  parseRecord,
  recordBytes,
  toHex,
  type Kind,
  type SavedFrontier,
} from "@tallystick/proof"
import { disclosuresOf } from "../entry.ts"
import { sha256 } from "../sha256.ts"
import type { LinkedRows, Whole } from "../store/store.ts"

/** Entries of a piece: a power of two, so that each is one subtree, and some ten milliseconds of work. */
export const pieceEntries = 4096
/** Levels of the tree that lie within a piece. */
export const pieceLevels = Math.log2(pieceEntries)
/** The level whose subtrees are reported: those that tiles are made of. */
export const tileLevel = 8

export interface Piece {
  readonly workspace: string
  readonly ledger: Uint8Array
  /** Entries of earlier epochs: all else is counted from the first of this one. */
  readonly before: number
  /** A multiple of `pieceEntries`. */
  readonly after: number
  /** That something is kept up to here is known. */
  readonly upTo: number
  /** Entries of the piece after which its part of the tree is wanted, in order. */
  readonly counts: readonly number[]
}

export interface WalkedPiece {
  /** Up to the first one that does not hold. */
  readonly entries: number
  /** What is wrong with the next, if anything. */
  readonly wrong: string | undefined
  /** The piece's part of the tree after each of `counts` that it came to, and at its end. */
  readonly edges: readonly SavedFrontier[]
  /** Its complete subtrees of `tileLevel`, end to end. */
  readonly subtrees: Uint8Array
  /** The keys that its entries announce. */
  readonly vkeys: readonly string[]
}

/** Of 32, 64, 128 and 256 the cheapest, and entries of the largest size are still some megabytes only. */
const entriesPerRead = 64

export function walkPiece(whole: Whole, { workspace, ledger, before, after, upTo, counts }: Piece): WalkedPiece {
  const place = placeAfter(whole, { workspace, ledger, before, after })
  const tree = createFrontier(undefined, sha256)
  const edges: SavedFrontier[] = []
  const subtrees: Uint8Array[] = []
  const vkeys: string[] = []
  const completed = (level: number, _: number, hash: Uint8Array): void => {
    if (level === tileLevel) subtrees.push(hash)
  }
  let wrong: string | undefined
  while (wrong === undefined && place.index < upTo) {
    const rows = whole.linked(workspace, before + place.index, Math.min(entriesPerRead, upTo - place.index))
    if (rows.sequences.length === 0) wrong = absence(whole, workspace, before + place.index)
    for (const entry of entriesOf(rows)) {
      wrong = check(entry, place)
      if (wrong !== undefined) break
      if (place.kind === "key" || place.index === 1) vkeys.push(...announced(whole, workspace, before + place.index))
      tree.append(place.previous, completed)
      if (counts.includes(tree.size)) edges.push(tree.save())
    }
  }
  return { entries: tree.size, wrong, edges: [...edges, tree.save()], subtrees: Buffer.concat(subtrees), vkeys }
}

/** Where the next entry must fit. */
interface Place {
  readonly before: number
  index: number
  timeMs: number
  /** Of the entry before. */
  kind: Kind
  readonly ledger: Uint8Array
  previous: Uint8Array
}

function placeAfter(whole: Whole, { workspace, ledger, before, after }: Pick<Piece, "workspace" | "ledger" | "before" | "after">): Place {
  const { records } = after === 0 ? { records: new Uint8Array() } : whole.linked(workspace, before + after - 1, 1)
  const fields = parseRecord(records)
  if (fields === undefined) return { before, index: after, timeMs: 0, kind: "admin", ledger, previous: ledger }
  return { before, index: after, timeMs: fields.timeMs, kind: fields.kind, ledger, previous: eventHash(records, sha256) }
}

interface LinkedEntry {
  readonly sequence: number
  readonly record: Uint8Array
  /** Undefined if there is no body. */
  readonly salted: Uint8Array | undefined
}

function* entriesOf({ sequences, records, lengths, salted }: LinkedRows): Generator<LinkedEntry> {
  let from = 0
  for (const [at, sequence] of sequences.entries()) {
    const length = lengths[at] ?? -1
    yield {
      sequence,
      record: records.subarray(at * recordBytes, (at + 1) * recordBytes),
      salted: length < 0 ? undefined : salted.subarray(from, from + length),
    }
    from += Math.max(length, 0)
  }
}

/** What is wrong with an entry in this place, if anything; if nothing is, the place is then that of the next one. */
function check({ sequence, record, salted }: LinkedEntry, place: Place): string | undefined {
  if (sequence !== place.before + place.index + 1) return absent(sequence)
  const fields = parseRecord(record)
  if (fields === undefined) return "the record is not one"
  if (fields.index !== place.index) return `the record is that of entry ${place.before + fields.index + 1}`
  if (!same(fields.ledgerId, place.ledger)) return "the record is of another ledger"
  if (!same(fields.previousHash, place.previous))
    return `the record follows ${toHex(fields.previousHash)}, and what stands before it is ${toHex(place.previous)}`
  if (fields.timeMs < place.timeMs) return "the record is older than the one before it"
  if (salted === undefined) return "the body is not there, and no entry says that it was removed"
  if (salted.length < bodySaltBytes || !same(bodyHashOf(salted), fields.bodyHash))
    return "the body is not the one that the record was made of"
  place.index += 1
  place.timeMs = fields.timeMs
  place.kind = fields.kind
  place.previous = eventHash(record, sha256)
  return undefined
}

function bodyHashOf(salted: Uint8Array): Uint8Array {
  return bodyHash(salted.subarray(0, bodySaltBytes), salted.subarray(bodySaltBytes), sha256)
}

function absent(next: number): string {
  return `it is not there; the next one that is kept is entry ${next}`
}

function absence(whole: Whole, workspace: string, after: number): string {
  return absent(whole.linked(workspace, after, 1).sequences[0] ?? 0)
}

/** By the platform: a million entries have three million pairs of hashes. */
function same(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

/** The key that an entry announces, if it does. */
function announced(whole: Whole, workspace: string, sequence: number): readonly string[] {
  return whole.entries(workspace, sequence - 1, 1).flatMap((entry) => {
    const parsed = parseJson(fromUtf8(entry.body ?? new Uint8Array()) ?? "")
    const opened = isJsonObject(parsed) ? openBody(parsed, disclosuresOf(entry), sha256) : undefined
    const metadata = opened?.ok === true ? opened.value["metadata"] : undefined
    const vkey = isJsonObject(metadata) ? metadata["vkey"] : undefined
    return typeof vkey === "string" ? [vkey] : []
  })
}
