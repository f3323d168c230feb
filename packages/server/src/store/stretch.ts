// Chooses the entries whose bodies become one frame, and checks each frame before it replaces them.

import {
  assert,
  addRange,
  concat,
  equalBytes,
  parseRecord,
  type RecordFields,
  type SequenceRange,
} from "@tallystick/proof"
import {
  fits,
  frameEntries,
  frameTextBytes,
  frameOfStaying,
  indexesOfFrame,
  openFrame,
  packFrame,
  textBytesOf,
  type FramedBody,
  type OpenFrame,
} from "./body-frame.ts"
import type { Frame } from "./content-keeper.ts"
import type { ChainEntry } from "./linked-rows.ts"

export interface UnpackedEntry extends ChainEntry {
  /** Bytes that are packed along with the body and count towards the size limit of the frame. */
  readonly besideBytes?: number
}

/** Reading this many entries shows whether a stretch is complete. */
export const stretchRead = frameEntries + 1

/**
 * The frame of the next entries, which are given in order. Returns only `last` if the first entry
 * cannot be packed and stays unchanged: it is too large, or it does not match its record, and
 * readers find it broken. Undefined if more entries may belong to the stretch, unless `mayBePart` is
 * set.
 */
export function nextFrame(
  entries: readonly UnpackedEntry[],
  mayBePart = false,
): { readonly frame: Frame } | { readonly last: number } | undefined {
  const stretch = stretchOf(entries)
  const [first] = stretch
  const [entry] = entries
  if (entry === undefined) return undefined
  if (first === undefined) return { last: entry.sequence }
  if (!mayBePart && !isComplete(stretch, entries)) return undefined
  const bodies = stretch.flatMap(({ body }) => body ?? [])
  const bytes = bodies.length === 0 ? new Uint8Array() : packFrame(bodies)
  if (bytes === undefined) return { last: entry.sequence }
  const frame = { first: first.sequence, count: stretch.length, bytes }
  // The frame is unpacked and its bodies are hashed again before anything is deleted.
  assert(
    frameFault(frame, entries.slice(0, stretch.length)) === undefined,
    "a frame has its bodies",
  )
  return { frame }
}

/** Undefined if a frame matches these entries. Otherwise a phrase that follows "the frame". */
function frameFault(
  frame: Frame,
  entries: readonly Pick<ChainEntry, "sequence" | "record">[],
): string | undefined {
  if (frame.bytes.length === 0)
    return frame.count === entries.length ? undefined : "has another count than there are entries"
  const opened = openFitting(frame, entries)
  return typeof opened === "string" ? opened : undefined
}

/** The unpacked frame if it matches these entries. Otherwise a phrase that follows "the frame". */
export function openFitting(
  { bytes, count }: Frame,
  entries: readonly Pick<ChainEntry, "sequence" | "record">[],
): OpenFrame | string {
  if (count !== entries.length) return "has another count than there are entries"
  const opened = openFrame(bytes)
  if (typeof opened === "string") return opened
  let found = 0
  for (const { sequence, record } of entries) {
    const fields = parseRecord(record)
    const salted = fields && opened.salted(fields.index)
    if (fields === undefined || salted === undefined) continue
    if (!fits(fields, salted)) return `has a body that entry ${sequence} does not commit to`
    found += 1
  }
  return found === opened.indexes.length ? opened : "has a body of an entry that is not its own"
}

/** The frame without the bodies of destroyed entries. Empty if no body remains. */
export function frameWithout(
  { first, count, bytes }: Frame,
  entries: readonly Pick<ChainEntry, "sequence" | "record">[],
  isGone: (sequence: number) => boolean,
): Frame {
  const staying = entries.filter(({ sequence }) => !isGone(sequence))
  const indexes = new Set(staying.map(({ record }) => parseRecord(record)?.index))
  const left =
    staying.length === 0
      ? "has nothing left"
      : frameOfStaying(bytes, (index) => !indexes.has(index))
  // Nothing of a damaged frame can be kept.
  if (typeof left === "string") return { first, count, bytes: new Uint8Array() }
  return { first, count, bytes: left?.bytes ?? bytes }
}

/**
 * The parts of a frame whose entries have their bodies neither in rows nor in frames that are there.
 * What such a frame lacks was destroyed. A copy of a ledger packs its entries anew, so its frames
 * may end elsewhere than those in the archive.
 */
export function partsToPut(
  frame: Frame,
  entries: readonly Pick<ChainEntry, "sequence" | "record">[],
  there: readonly Frame[],
  inRows: readonly number[],
): readonly Frame[] {
  const known = new Set(inRows)
  for (const { first, count, bytes } of there) {
    assert(typeof indexesOfFrame(bytes) !== "string", `the frame of entry ${first} is readable`)
    for (let sequence = first; sequence < first + count; sequence++) known.add(sequence)
  }
  const parts: SequenceRange[] = []
  for (const { sequence } of entries)
    if (!known.has(sequence)) addRange(parts, { first: sequence, last: sequence })
  if (parts.length === 0) return []
  const fault = frameFault(frame, entries)
  assert(fault === undefined, `the frame of entry ${frame.first} ${fault}`)
  return parts.map(({ first, last }) => {
    const { bytes } = frameWithout(frame, entries, (one) => one < first || one > last)
    return { first, count: last - first + 1, bytes }
  })
}

interface Member {
  readonly sequence: number
  readonly fields: RecordFields
  readonly body: FramedBody | undefined
}

/** The longest run of entries from the first one that may share a frame. */
function stretchOf(entries: readonly UnpackedEntry[]): readonly Member[] {
  const members: Member[] = []
  let textBytes = 0
  for (const { sequence, record, body, bodySalt, besideBytes = 0 } of entries) {
    const fields = parseRecord(record)
    const last = members.at(-1)
    if (fields === undefined) break
    if (last !== undefined && !follows(last, sequence, fields)) break
    const salted = body && bodySalt && concat(bodySalt, body)
    if (salted !== undefined && !fits(fields, salted)) break
    const framed = salted && { index: fields.index, salted }
    textBytes += besideBytes + (framed === undefined ? 0 : textBytesOf(framed))
    if (members.length > 0 && textBytes > frameTextBytes) break
    members.push({ sequence, fields, body: framed })
    if (isLastPlace(fields)) break
  }
  return members
}

function follows(last: Member, sequence: number, fields: RecordFields): boolean {
  return (
    sequence === last.sequence + 1 &&
    fields.index === last.fields.index + 1 &&
    equalBytes(fields.ledgerId, last.fields.ledgerId)
  )
}

/** Whether no further entry can belong to it. */
function isComplete(stretch: readonly Member[], entries: readonly UnpackedEntry[]): boolean {
  const last = stretch.at(-1)
  return last !== undefined && (isLastPlace(last.fields) || stretch.length < entries.length)
}

function isLastPlace({ index }: RecordFields): boolean {
  return index % frameEntries === frameEntries - 1
}
