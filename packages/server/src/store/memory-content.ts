// The content of entries in the reference driver (content-keeper.ts): a packed entry is stored
// without its body, because the frame contains the body.

import { assert, parseRecord, type SequenceRange } from "@tallystick/proof"
import { openFrame } from "./body-frame.ts"
import { isLess, type ContentKeeper, type Frame, type Remaining } from "./content-keeper.ts"
import { withBody, type Stored } from "./entries.ts"
import { frameWithout, nextFrame, partsToPut, stretchRead } from "./stretch.ts"

export interface MemoryContent {
  readonly keeper: ContentKeeper
  /** The entry with the body from its frame. */
  whole(entry: Stored): Stored
}

/** `entriesOf` returns the entries of a workspace in order, as an array that may be changed. */
export function createMemoryContent(entriesOf: (workspace: string) => Stored[]): MemoryContent {
  const content = createFrames(entriesOf)
  const { framesOf } = content
  return {
    whole(entry) {
      const frame = entry.body === undefined ? frameAt(framesOf(entry.workspace), entry) : undefined
      const salted = frame && bodyIn(frame, entry)
      return salted === undefined ? entry : withBody(entry, salted)
    },
    keeper: {
      async pack(workspace, after, upTo, mayBePart) {
        const entries = entriesOf(workspace)
        const open = entries
          .slice(after, Math.min(upTo, entries.length - 1))
          .filter((entry) => frameAt(framesOf(workspace), entry) === undefined)
        const next = nextFrame(open.slice(0, stretchRead), mayBePart)
        if (next === undefined) return undefined
        if ("last" in next) return { last: next.last, entries: 0, bytes: 0 }
        content.put(workspace, next.frame)
        content.change(workspace, rangeOf(next.frame), none)
        const { count, bytes } = next.frame
        return { last: rangeOf(next.frame).last, entries: count, bytes: bytes.length }
      },
      async frames(workspace, after, bytesMax) {
        let size = 0
        const later = framesOf(workspace).filter(({ first }) => first > after)
        return later.filter(({ bytes }, place) => (size += bytes.length) <= bytesMax || place === 0)
      },
      dropBodies: async (workspace, range) => content.drop(workspace, range),
      putFrames: async (workspace, given) =>
        given.forEach((one) => content.putBack(workspace, one)),
      async destroyBodies(workspace, ranges) {
        for (const range of ranges) content.destroy(workspace, range)
        return ranges.at(-1)?.last ?? 0
      },
      async keepDisclosures(workspace, remaining) {
        for (const one of remaining) content.keepSealed(workspace, one)
        return remaining.at(-1)?.sequence ?? 0
      },
      clearLog: async () => true,
      overwriteCopies: async () => true,
    },
  }
}

function createFrames(entriesOf: (workspace: string) => Stored[]) {
  const frames = new Map<string, readonly Frame[]>()
  const framesOf = (workspace: string): readonly Frame[] => frames.get(workspace) ?? []
  const recordsOf = (workspace: string, { first, count }: Frame): Stored[] =>
    entriesOf(workspace).slice(first - 1, first - 1 + count)
  const change = (workspace: string, range: SequenceRange, made: Partial<Stored>): void => {
    const entries = entriesOf(workspace)
    for (const [place, entry] of entries.entries())
      if (isIn(entry.sequence, range)) entries[place] = { ...entry, ...made }
  }
  const put = (workspace: string, frame: Frame): void => {
    const others = framesOf(workspace).filter(({ first }) => first !== frame.first)
    const all = frame.bytes.length > 0 ? [...others, frame] : others
    frames.set(
      workspace,
      all.toSorted((a, b) => a.first - b.first),
    )
  }
  return {
    framesOf,
    change,
    put,
    drop(workspace: string, range: SequenceRange): number {
      const gone = framesOf(workspace).filter((frame) => overlaps(rangeOf(frame), range))
      assert(
        gone.every((frame) => isIn(frame.first, range) && isIn(rangeOf(frame).last, range)),
        "no frame lies partly in what is dropped",
      )
      for (const frame of gone) put(workspace, { ...frame, bytes: new Uint8Array() })
      return range.last
    },
    putBack(workspace: string, frame: Frame): void {
      const entries = recordsOf(workspace, frame)
      const there = framesOf(workspace).filter((one) => overlaps(rangeOf(one), rangeOf(frame)))
      const inRows = entries.flatMap(({ sequence, body }) => (body === undefined ? [] : sequence))
      for (const part of partsToPut(frame, entries, there, inRows)) put(workspace, part)
    },
    destroy(workspace: string, range: SequenceRange): void {
      const isGone = (sequence: number): boolean => isIn(sequence, range)
      for (const frame of framesOf(workspace))
        if (overlaps(rangeOf(frame), range))
          put(workspace, frameWithout(frame, recordsOf(workspace, frame), isGone))
      change(workspace, range, { ...none, disclosures: "" })
    },
    keepSealed(workspace: string, { sequence, disclosures }: Remaining): void {
      const before = entriesOf(workspace)[sequence - 1]?.disclosures ?? ""
      if (isLess(before, disclosures))
        change(workspace, { first: sequence, last: sequence }, { disclosures })
    },
  }
}

function frameAt(frames: readonly Frame[], { sequence }: Stored): Frame | undefined {
  return frames.find((frame) => isIn(sequence, rangeOf(frame)))
}

const none = { body: undefined, bodySalt: undefined }

function rangeOf({ first, count }: Frame): SequenceRange {
  return { first, last: first + count - 1 }
}

function isIn(sequence: number, { first, last }: SequenceRange): boolean {
  return sequence >= first && sequence <= last
}

function overlaps(one: SequenceRange, other: SequenceRange): boolean {
  return one.first <= other.last && other.first <= one.last
}

function bodyIn({ bytes }: Frame, { record }: Stored): Uint8Array | undefined {
  const index = parseRecord(record)?.index
  const opened = openFrame(bytes)
  return index === undefined || typeof opened === "string" ? undefined : opened.salted(index)
}
