// Finds the bodies of archived entries, and wraps a journal so that archived entries look like all
// others. Data from storage is compared with the entry's record, and read once more if it does not
// match. If it still does not match, the body is damaged, and a check of the entry finds it broken.
// If storage fails, the read fails with `archive_unavailable`; entries are never omitted.

import { parseRecord } from "@tallystick/proof"
import type { Clock } from "../../clock.ts"
import type { ArchivePlace } from "../../config.ts"
import { usualError } from "../../error.ts"
import { createLru } from "../../runtime/lru-cache.ts"
import { fits, frameEntries, openFrame, type OpenFrame } from "../body-frame.ts"
import { readGone } from "../destroyed.ts"
import type { ArchiveSegmentDocument } from "../documents.ts"
import { bytesOf, withBody, type Stored } from "../entries.ts"
import { recordAt, withBodies, type LinkedRows } from "../linked-rows.ts"
import type { JournalReader, Registry } from "../store.ts"
import { ArchiveFailure, type ArchiveStorage, type ByteRange } from "./archive-storage.ts"
import { segmentPrefix } from "./archive-segment.ts"
import { openArchive } from "./open-archive.ts"
import { createSegmentDirectory, segmentAt } from "./segment-directory.ts"
import { frameOf, readFramePlaces, type FramePlace } from "./segment-file.ts"

export interface ArchivedBodies {
  /**
   * Adds the bodies of archived entries. Returns the first entries, at least one, with at most
   * `bytesMax` together.
   */
  filled<E extends Stored | undefined>(
    workspace: string,
    entries: readonly E[],
    bytesMax?: number,
  ): Promise<readonly E[]>
  /** The same for concatenated rows. Returns at least one piece. */
  filledRows(workspace: string, pieces: readonly LinkedRows[]): Promise<readonly LinkedRows[]>
  close(): void
}

/** An entry whose body is not in the journal. */
interface Wanted {
  readonly sequence: number
  readonly record: Uint8Array
}

/** Cache of unpacked frames in a thread: some two hundred ordinary ones. */
const cacheBytesMax = 8 * 1024 * 1024
/** Segments whose seek tables are cached, some 20 KB each. */
const tablesMax = 256
/** Frames that are read at once. There are as many connections. */
const framesAtOnce = 16
/** Adjacent frames are read in one request of up to this size. */
const rangeBytesMax = 4 * 1024 * 1024
/** The bytes of bodies in one answer. */
const answerBytesMax = 8 * 1024 * 1024

export function openArchivedBodies(
  place: ArchivePlace,
  registry: Pick<Registry, "get" | "list" | "count">,
  clock: Clock,
): ArchivedBodies {
  const storage = openArchive(place, clock)
  return { ...createArchivedBodies(storage, registry), close: () => storage.close() }
}

export function createArchivedBodies(
  storage: Pick<ArchiveStorage, "get">,
  registry: Pick<Registry, "get" | "list" | "count">,
): Omit<ArchivedBodies, "close"> {
  const directory = createSegmentDirectory(registry)
  const frames = createFrames(storage)

  /** The salts and bodies of those of these entries that are in segments. */
  async function bodiesOf(
    workspace: string,
    wanted: readonly Wanted[],
  ): Promise<ReadonlyMap<number, Uint8Array>> {
    const bodies = new Map<number, Uint8Array>()
    const gone = await readGone(
      registry,
      workspace,
      wanted.map(({ sequence }) => sequence),
    )
    // Destroyed content is not shown, even if its segment was not rewritten yet.
    let left = wanted.filter(({ sequence }) => gone(sequence)?.what !== "body")
    // If a segment was rewritten meanwhile, the file with its old name is gone.
    for (let tries = 1; left.length > 0 && tries <= 2; tries++) {
      const segments = await directory.list(workspace)
      const archived = left.filter(({ sequence }) => segmentAt(segments, sequence) !== undefined)
      const opened = await frames.read(segments, archived, tries === 1).catch((error: unknown) => {
        if (tries === 2 || !(error instanceof GoneError)) throw asRefusal(error)
        return undefined
      })
      if (opened === undefined) continue
      for (const { sequence, record } of archived) {
        const fields = parseRecord(record)
        const salted = fields && opened(sequence, fields.index)
        if (salted === undefined) continue
        bodies.set(sequence, salted)
      }
      left = archived.filter(({ sequence, record }) => !isOf(record, bodies.get(sequence)))
    }
    return bodies
  }

  return {
    async filled(workspace, entries, bytesMax = Infinity) {
      if (!entries.some(lacksBody)) return entries
      const all: (typeof entries)[number][] = []
      let bytes = 0
      for (const some of inSteps(entries)) {
        const wanted = some.flatMap((entry) => (lacksBody(entry) ? [entry] : []))
        const bodies = await bodiesOf(workspace, wanted)
        for (const entry of some) {
          const salted = entry && bodies.get(entry.sequence)
          const whole =
            entry === undefined || salted === undefined ? entry : withBody(entry, salted)
          bytes += bytesOf(whole)
          if (bytes > bytesMax && all.length > 0) return all
          // It has the type of the given entry.
          all.push(whole as (typeof entries)[number])
        }
      }
      return all
    },
    async filledRows(workspace, pieces) {
      const all: LinkedRows[] = []
      let bytes = 0
      for (const rows of pieces) {
        const wanted = rows.lengths.flatMap((length, place) =>
          length > 0
            ? []
            : [{ sequence: rows.sequences[place] ?? 0, record: recordAt(rows, place) }],
        )
        const bodies = await bodiesOf(workspace, wanted)
        const filled = withBodies((sequence) => bodies.get(sequence), rows)
        all.push(filled)
        bytes += filled.bodies.length
        if (bytes > answerBytesMax) break
      }
      return all
    },
  }
}

/** The file of a segment is not there. */
class GoneError extends Error {}

/** A failure of storage as `archive_unavailable`; anything else as it is. */
export function asRefusal(cause: unknown): unknown {
  if (!(cause instanceof ArchiveFailure || cause instanceof GoneError)) return cause
  return usualError("archive_unavailable", { cause })
}

/** The salt and the body of an entry, by its sequence and its index. */
type OpenedFrames = (sequence: number, index: number) => Uint8Array | undefined

/** Reads frames of segments, and caches some. */
function createFrames(storage: Pick<ArchiveStorage, "get">) {
  const tables = createLru<readonly FramePlace[]>(tablesMax)
  const cache = createLru<OpenFrame>(cacheBytesMax, ({ textBytes }) => textBytes)

  async function read({ file }: ArchiveSegmentDocument, range: ByteRange): Promise<Uint8Array> {
    const bytes = await storage.get(file, range)
    if (bytes === undefined) throw new GoneError(`the archive has no file ${file}`)
    return bytes
  }

  /** Empty if the end of the file is malformed. */
  async function tableOf(segment: ArchiveSegmentDocument): Promise<readonly FramePlace[]> {
    const known = tables.get(segment.file)
    if (known !== undefined) return known
    const first = segmentPrefix(segment).index
    const places = await readFramePlaces(first, segment.bytes, (range) => read(segment, range))
    if (typeof places === "string") return []
    tables.set(segment.file, places)
    return places
  }

  return {
    /** With `mayRemember`, cached frames may be used. */
    async read(
      segments: readonly ArchiveSegmentDocument[],
      wanted: readonly Wanted[],
      mayRemember: boolean,
    ): Promise<OpenedFrames> {
      const opened = new Map<string, OpenFrame>()
      const missing: FrameToRead[] = []
      const frameOfEntry = new Map<number, string>()
      const hit = new Set(wanted.flatMap(({ sequence }) => segmentAt(segments, sequence) ?? []))
      if (!mayRemember) for (const { file } of hit) tables.delete(file)
      // In parallel, because storage may be slow.
      const tablesOfHit = [...hit].map(async (one) => [one.file, await tableOf(one)] as const)
      const places = new Map(await Promise.all(tablesOfHit))
      for (const { sequence, record } of wanted) {
        const segment = segmentAt(segments, sequence)
        const index = parseRecord(record)?.index
        if (segment === undefined || index === undefined) continue
        const place = frameOf(places.get(segment.file) ?? [], index)
        if (place === undefined) continue
        const name = `${segment.file} ${place.index}`
        frameOfEntry.set(sequence, name)
        if (opened.has(name) || missing.some((one) => one.name === name)) continue
        const known = mayRemember ? cache.get(name) : undefined
        if (known === undefined) missing.push({ name, segment, place })
        else opened.set(name, known)
      }
      await Promise.all(
        neighbours(missing).map(async (some) => {
          const [first, last] = [some[0], some.at(-1)]
          if (first === undefined || last === undefined) return
          const { start } = first.place.range
          const bytes = await read(first.segment, { start, end: last.place.range.end })
          for (const { name, place } of some) {
            const { range } = place
            const frame = openFrame(bytes.subarray(range.start - start, range.end - start))
            if (typeof frame === "string") continue
            opened.set(name, frame)
            cache.set(name, frame)
          }
        }),
      )
      return (sequence, index) => opened.get(frameOfEntry.get(sequence) ?? "")?.salted(index)
    },
  }
}

interface FrameToRead {
  readonly name: string
  readonly segment: ArchiveSegmentDocument
  readonly place: FramePlace
}

/** Runs of adjacent frames in one file. */
function neighbours(frames: readonly FrameToRead[]): readonly (readonly FrameToRead[])[] {
  const runs: FrameToRead[][] = []
  for (const frame of frames) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    const isNext =
      last?.segment.file === frame.segment.file &&
      last.place.range.end === frame.place.range.start &&
      frame.place.range.end - (run?.[0]?.place.range.start ?? 0) <= rangeBytesMax
    if (isNext) run?.push(frame)
    else runs.push([frame])
  }
  return runs
}

/** Entries in order, split so that few frames are read at once. */
function* inSteps<E extends Stored | undefined>(entries: readonly E[]): Generator<readonly E[]> {
  let some: E[] = []
  let strides = new Set<number>()
  for (const entry of entries) {
    if (entry !== undefined && lacksBody(entry)) {
      strides.add(Math.floor(entry.sequence / frameEntries))
      if (strides.size > framesAtOnce) {
        yield some
        some = []
        strides = new Set()
      }
    }
    some.push(entry)
  }
  if (some.length > 0) yield some
}

function lacksBody<E extends Stored | undefined>(entry: E): entry is E & Stored {
  return entry !== undefined && entry.body === undefined
}

function isOf(record: Uint8Array, salted: Uint8Array | undefined): boolean {
  const fields = parseRecord(record)
  return fields !== undefined && salted !== undefined && fits(fields, salted)
}

/** A store whose journal also has the bodies of archived entries. */
export function withArchive<
  S extends {
    readonly journal: Partial<JournalReader>
    readonly registry: Pick<Registry, "get" | "list" | "count">
    close(): Promise<void>
  },
>(store: S, place: ArchivePlace, clock: Clock): S {
  const bodies = openArchivedBodies(place, store.registry, clock)
  return {
    ...store,
    journal: withArchived(store.journal, bodies),
    async close() {
      await store.close()
      bodies.close()
    },
  }
}

/** A journal whose archived entries look like all others. */
export function withArchived<J extends Partial<JournalReader>>(
  journal: J,
  { filled, filledRows }: Pick<ArchivedBodies, "filled" | "filledRows">,
): J {
  const { at, after, linked } = journal
  return {
    ...journal,
    ...(at && {
      at: async (workspace: string, sequences: readonly number[], bytesMax?: number) =>
        filled(workspace, await at(workspace, sequences, bytesMax), bytesMax),
    }),
    ...(after && {
      after: async (workspace: string, sequence: number, limit: number) =>
        filled(workspace, await after(workspace, sequence, limit), answerBytesMax),
    }),
    ...(linked && {
      linked: async (workspace: string, sequence: number, limit: number) =>
        filledRows(workspace, await linked(workspace, sequence, limit)),
    }),
  }
}
