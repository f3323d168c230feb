import assert from "node:assert/strict"
import test from "node:test"
import { missing } from "./searchable-fields.ts"
import { createSegmentBuilder } from "./segment-builder.ts"
import { createPartCache } from "./part-cache.ts"
import {
  headerOf,
  openSegment,
  openSource,
  packSegment,
  runSteps,
  streamNames,
  sumOf,
} from "./segment-format.ts"
import { mergeInto } from "./segment-merge.ts"
import type { SegmentParts } from "./segments.ts"

const entries = 16_384

/** Words that every entry has in values of its own, and an id and a receipt. */
function segmentFrom(first: number): SegmentParts {
  const builder = createSegmentBuilder(first, entries)
  for (let sequence = first; sequence < first + entries; sequence++) {
    const digits = String(sequence).padStart(36, "0")
    const field = (name: string, value: string) => ({ names: [name], value, isText: true })
    const nobody = [
      field("id", `evt_${digits}`),
      field("receipt", `rcp_${digits}`),
      ...["one", "two", "three", "four"].map((name) => field(name, `order ${name} ${sequence}`)),
    ]
    builder.addFiled({ ...missing(sequence), fields: { nobody, actor: [], target: [] } })
  }
  return packSegment(builder.finish())
}

test("a merge pauses after a bounded number of bytes and of numbers in lists", () => {
  const sources = [segmentFrom(1), segmentFrom(entries + 1)]
  const opened = sources.map(([header = new Uint8Array()]) =>
    openSegment(header, createPartCache(0)),
  )
  const partsOf = new Map(opened.map(({ hash }, at) => [hash, sources[at]]))
  let parts = 0
  let bytes = 0
  let bytesMax = 0
  /** How many parts were finished at each pause for which no part was asked. */
  const pauses: number[] = []
  const steps = mergeInto(opened, (part) => {
    parts++
    bytes += part.raw.length
    return sumOf(part)
  })
  for (let step = steps.next(); ;) {
    bytesMax = Math.max(bytesMax, bytes)
    bytes = 0
    if (step.done === true) {
      const { facts, streams } = step.value
      const { keys, entries: lists, words, values } = streams
      const inLists = pauses.filter(
        (at) => at < keys.length + lists.length + words.length + values.length,
      )
      // Each key has an entry at least, and each value of one of the fields has two words or more.
      const numbers = facts.keys + 2 * 4 * 2 * entries
      assert.ok(facts.keys > 8 * entries)
      assert.ok(inLists.length >= Math.floor(numbers / 131_072), `${inLists.length} pauses`)
      assert.ok(bytesMax <= 131_072, `${bytesMax} bytes in a step`)
      assert.equal(streams.ids.length, 8)
      return
    }
    const asked = step.value
    if (asked === undefined) pauses.push(parts)
    step = steps.next(asked && partsOf.get(asked.segment.hash)?.[asked.part])
  }
})

test("a source unpacks each stream into one buffer, and merges to the same bytes", () => {
  const sources = [segmentFrom(1), segmentFrom(entries + 1)]
  const buffers = new Set<ArrayBufferLike>()
  let parts = 0
  /** The header has the hash of each part. */
  const mergedFrom = (open: typeof openSource): Buffer => {
    const opened = sources.map(([header = new Uint8Array()]) => {
      const segment = open(header)
      return {
        ...segment,
        *raw(place: Parameters<typeof segment.raw>[0]) {
          const raw = yield* segment.raw(place)
          buffers.add(raw.buffer)
          parts++
          return raw
        },
      }
    })
    const partsOf = new Map(opened.map(({ hash }, at) => [hash, sources[at]]))
    return headerOf(
      runSteps(mergeInto(opened, sumOf), ({ hash }, part) => partsOf.get(hash)?.[part]),
    )
  }
  const merged = mergedFrom(openSource)
  assert.ok(buffers.size <= sources.length * streamNames.length, `${buffers.size} buffers`)
  assert.ok(parts > 4 * buffers.size, `${parts} parts`)
  assert.deepEqual(
    merged,
    mergedFrom((header) => openSegment(header, createPartCache(0))),
  )
})
