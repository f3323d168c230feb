// The cost of the search alone: making segments, merging them, and searching them. Ordinary
// entries, as load.ts writes them, sealed as the ledger seals them. Milliseconds and microseconds
// are of the processor.

import { encodeRecord } from "@tallystick/proof"
import { parseQuery } from "@tallystick/client/grammar"
import { createIds } from "../../packages/server/src/ledger/ids.ts"
import { pooledRandom } from "../../packages/server/src/ledger/random.ts"
import { seal } from "../../packages/server/src/ledger/seal.ts"
import type { Content } from "../../packages/server/src/store/opened-entry.ts"
import type { Counting, Wanted } from "../../packages/server/src/store/search/search.ts"
import { createSegmentBuilder } from "../../packages/server/src/store/search/segment-builder.ts"
import {
  addCounts,
  countedOf,
  countIn,
  Counts,
} from "../../packages/server/src/store/search/segment-counts.ts"
import { createPartCache } from "../../packages/server/src/store/search/part-cache.ts"
import {
  openSegment,
  packSegment,
  runSteps,
  streamNames,
  type Segment,
} from "../../packages/server/src/store/search/segment-format.ts"
import { mergeInto } from "../../packages/server/src/store/search/segment-merge.ts"
import { matchesIn } from "../../packages/server/src/store/search/segment-query.ts"
import {
  segmentSizes,
  type SegmentParts,
  type Steps,
} from "../../packages/server/src/store/search/segments.ts"
import type { Stored } from "../../packages/server/src/store/entries.ts"
import { median } from "../median.ts"

const [, small = 4096, large = 65_536] = segmentSizes
const startMs = Date.parse("2026-01-01T00:00:00Z")
const everyMs = 37
const cacheBytes = 1024 * 1024 * 1024
const actions = [
  "billing.invoice.approve",
  "auth.session.start",
  "report.export.create",
  "policy.terms.accept",
  "billing.card.change",
]
const lanes = ["data", "security", "operations", "policy", "data"] as const
const projects = ["core", "core", "shop", "desk"]

/** A segment, and all that is kept of it. */
interface Kept {
  readonly parts: SegmentParts
  readonly segment: Segment
}

/** The lines of two tables. */
export function* measureSegments(entries: number): Generator<string> {
  const { segments, spent } = makeSegments(entries)
  const bytes = segments.reduce((sum, { parts }) => sum + bytesOf(parts), 0)
  yield `| ${entries} entries in ${segments.length} segments | |\n| --- | ---: |`
  yield `| made, ${small} at once | ${spent.small.each()} µs an entry |`
  yield `| merged to ${large} | ${spent.merged.each()} µs an entry |`
  yield `| made, ${large} at once | ${spent.large.each()} µs an entry |`
  yield `| kept | ${(bytes / entries).toFixed(1)} bytes an entry |\n`
  yield* streamsOf(segments, entries)
  yield "\n| search | found | cold ms | warm ms |\n| --- | ---: | ---: | ---: |"
  for (const { name, ask } of questionsOf(entries)) {
    const cold = medianOf(5, () => {
      const opened = segments.map(({ parts }) => open(parts))
      return () => ask(opened)
    })
    const warm = medianOf(15, () => () => ask(segments))
    yield `| ${name} | ${ask(segments)} | ${cold.toFixed(1)} | ${warm.toFixed(1)} |`
  }
}

// ---- Making them.

function storedBy(): (sequence: number) => Stored {
  const random = pooledRandom()
  const ids = createIds(random)
  const none = new Uint8Array(32)
  return (n) => {
    const atMs = startMs + n * everyMs
    const text = new Date(atMs).toISOString()
    const content: Content = {
      id: ids("evt", atMs),
      receipt: ids("rcp", atMs),
      workspaceId: "bench",
      projectId: projects[n % projects.length] ?? "",
      action: actions[n % actions.length] ?? "",
      actor: { id: `usr_${n % 5000}`, type: "user", email: `user${n % 5000}@example.com` },
      target: { id: `inv_${n}`, type: "invoice", name: `Invoice ${n}` },
      occurredAt: text,
      receivedAt: text,
      source: "api",
      userVisible: true,
      lane: lanes[n % lanes.length] ?? "data",
      metadata: { amount: 1299.5, currency: "EUR", reason: "within the limit of the approver" },
      keyId: "key_0123456789",
    }
    const sealed = seal("event", content, "i".repeat(22), { personalKeys: [], random })
    const hashes = { ledgerId: none, previousHash: none, bodyHash: sealed.bodyHash }
    const record = encodeRecord({ kind: "event", index: n - 1, timeMs: atMs, ...hashes })
    return { ...sealed, workspace: "bench", sequence: n, record }
  }
}

function makeSegments(entries: number) {
  const spent = { small: createSpent(), merged: createSpent(), large: createSpent() }
  const storedAt = storedBy()
  const segments: Kept[] = []
  for (let first = 1; first <= entries; first += large) {
    const count = Math.min(large, entries - first + 1)
    const stored = Array.from({ length: count }, (_, at) => storedAt(first + at))
    // The first is made of small ones, the second at once, and so on in turns.
    if (count === large && ((first - 1) / large) % 2 === 1) {
      segments.push(open(spent.large.of(count, () => partsOf(stored))))
      continue
    }
    const smalls: SegmentParts[] = []
    for (let at = 0; at < count; at += small) {
      const some = stored.slice(at, at + small)
      smalls.push(spent.small.of(some.length, () => partsOf(some)))
    }
    if (count === large) segments.push(open(spent.merged.of(count, () => merged(smalls))))
    else for (const parts of smalls) segments.push(open(parts))
  }
  return { segments, spent }
}

function partsOf(stored: readonly Stored[]): SegmentParts {
  const builder = createSegmentBuilder(stored[0]?.sequence ?? 1, stored.length)
  for (const entry of stored) builder.add(entry)
  return packSegment(builder.finish())
}

function merged(smalls: readonly SegmentParts[]): SegmentParts {
  const none = createPartCache(0)
  const opened = smalls.map(([header = new Uint8Array()]) => openSegment(header, none))
  const kept = new Map(opened.map(({ hash }, at) => [hash, smalls[at]]))
  return packSegment(
    runSteps(
      mergeInto(opened, (part) => part),
      ({ hash }, part) => kept.get(hash)?.[part],
    ),
  )
}

function open(parts: SegmentParts): Kept {
  const [header = new Uint8Array()] = parts
  return { parts, segment: openSegment(header, createPartCache(cacheBytes)) }
}

function createSpent() {
  let [us, entries] = [0, 0]
  return {
    of<T>(count: number, work: () => T): T {
      const before = process.cpuUsage()
      const made = work()
      const { user, system } = process.cpuUsage(before)
      us += user + system
      entries += count
      return made
    },
    each: () => (entries === 0 ? "–" : (us / entries).toFixed(1)),
  }
}

function bytesOf(parts: SegmentParts): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}

/** The size of each stream. */
function* streamsOf(segments: readonly Kept[], entries: number): Generator<string> {
  yield "| stream | raw bytes an entry | kept |\n| --- | ---: | ---: |"
  for (const name of streamNames) {
    let [raw, kept] = [0, 0]
    for (const { segment, parts } of segments)
      for (const { part, rawBytes } of segment.streams[name]) {
        raw += rawBytes
        kept += parts[part]?.length ?? 0
      }
    yield `| ${name} | ${(raw / entries).toFixed(1)} | ${(kept / entries).toFixed(1)} |`
  }
}

// ---- Asking them.

interface Question {
  readonly name: string
  readonly ask: (segments: readonly Kept[]) => number
}

function questionsOf(entries: number): readonly Question[] {
  const middle = Math.floor(entries / 2)
  const at = (n: number) => ({ ms: startMs + Math.floor(n) * everyMs, ns: 0 })
  const searches: readonly (readonly [name: string, text: string, more?: Partial<Wanted>])[] = [
    ["a word", '"approve"'],
    ["a rare id", `inv_${middle}`],
    ["two words", "approve usr_42"],
    ["billing.inv", "billing.inv"],
    ["usr_1", "usr_1"],
    ["one letter", "i"],
    ["a prefix that all have", "inv*"],
    ["a prefix of many words", "user*"],
    ["a negation", "-billing"],
    ["lane, project, visible", "", { lane: "data", projectIds: ["core"], userVisible: true }],
    ["actor:usr_42", "actor:usr_42"],
    ["a word, of a person", "approve", { subject: { id: "usr_42", types: ["user"] } }],
    ["a phrase", '"Invoice 4"*'],
    ["a tenth of the time", "", { from: at(middle), to: at(middle + entries / 10) }],
  ]
  const bucketMs = Math.ceil(((entries + 1) * everyMs) / 120)
  const timeline = {
    kind: "timeline",
    fromMs: startMs,
    bucketMs,
    buckets: 120,
    by: "lane",
  } as const
  const actors = { kind: "values", field: "actor", limit: 20, valuesMax: 100_000 } as const
  return [
    ...searches.map(([name, text, more]) => ({
      name,
      ask: (segments: readonly Kept[]) => find(segments, wantedOf(text, more)),
    })),
    {
      name: "timeline of 120 buckets by lane",
      ask: (segments) => count(segments, wantedOf("billing"), timeline),
    },
    {
      name: "twenty commonest actors",
      ask: (segments) => count(segments, wantedOf("billing"), actors),
    },
  ]
}

function wantedOf(text: string, more: Partial<Wanted> = {}): Wanted {
  const parsed = parseQuery(text)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return { system: "without", ...more, query: parsed.query }
}

function askAll<T>(segments: readonly Kept[], each: (segment: Segment) => Steps<T>): T[] {
  return segments.map(({ segment, parts }) => runSteps(each(segment), (_, part) => parts[part]))
}

function find(segments: readonly Kept[], wanted: Wanted): number {
  let found = 0
  for (const matches of askAll(segments, (segment) => matchesIn(segment, wanted))) {
    found += matches.count
    matches.newestBelow(Infinity, 50)
  }
  return found
}

function count(segments: readonly Kept[], wanted: Wanted, counting: Counting): number {
  const total = new Counts()
  const counts = askAll(segments, function* (segment) {
    return yield* countIn(segment, yield* matchesIn(segment, wanted), counting)
  })
  for (const own of counts) addCounts(total, own, counting)
  return countedOf(total, counting)
    .flatMap((one) => one.counts)
    .reduce((sum, of) => sum + of, 0)
}

/** Milliseconds of the processor, of all threads. */
function medianOf(times: number, prepare: () => () => void): number {
  const took = Array.from({ length: times }, () => {
    const ask = prepare()
    const before = process.cpuUsage()
    ask()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return median(took)
}
