// Writes entries into the files of exports, a piece at a time: reads them, verifies them as for a
// page, and shows what the reader may see.

import { strict as assert } from "node:assert"
import { unpaced } from "../runtime/pace.ts"
import { bytesOf } from "../store/entries.ts"
import { epochsOf } from "../store/epochs.ts"
import type { Wanted } from "../store/search/search.ts"
import type { Document, ReadStore, Registry, Stored } from "../store/store.ts"
import { missing, sightOf, vkeysOf } from "./build-page.ts"
import { createCsvFile } from "./export-csv.ts"
import type { ExportFile, ExportFormat } from "./export-file.ts"
import { createJsonlFile } from "./export-jsonl.ts"
import { findEntries, findIncluded, type EntrySource } from "./verified-entries.ts"

export interface ExportAsked {
  readonly workspace: Document<"workspace">
  readonly format: ExportFormat
  readonly isProven: boolean
  /** What was searched, within what this reader may see. */
  readonly wanted: Wanted
  /** The last recorded entry when the export began. */
  readonly end: number
  readonly nowMs: number
}

export interface ExportedBytes {
  readonly bytes: Uint8Array
  /** Entries whose last byte is among these bytes. */
  readonly written: number
}

export interface ExportPiece extends ExportedBytes {
  /** How many of the sequences were read: one at least, fewer than all if their entries are large. */
  readonly taken: number
}

export interface EntryExporter {
  /** Returns the number of the export. */
  begin(asked: ExportAsked): Promise<number>
  /** Adds entries, whose sequences ascend. */
  add(number: number, sequences: readonly number[]): Promise<ExportPiece>
  /** Returns the last bytes of the file. */
  end(number: number): Promise<ExportedBytes>
  /** Forgets an export, which may have ended. */
  drop(number: number): Promise<void>
}

export interface ExporterParts extends Pick<ReadStore, "journal" | "registry"> {
  readonly index: ReadStore["index"]
  readonly source: EntrySource
}

interface Export extends ExportAsked {
  readonly file: ExportFile
}

/** Bodies and disclosures that are read for a piece, which has one entry at least. */
const pieceBytesMax = 1024 * 1024

export function createEntryExporter(parts: ExporterParts): EntryExporter {
  const exports = new Map<number, Export>()
  let begun = 0
  const known = (number: number): Export => {
    const found = exports.get(number)
    assert(found !== undefined, "only an export that has begun goes on")
    return found
  }
  return {
    async begin(asked) {
      // Another export may begin while the file is made.
      const number = ++begun
      exports.set(number, { ...asked, file: await fileOf(asked) })
      return number
    },
    async add(number, sequences) {
      const of = known(number)
      const entries = await readSome(parts, of.workspace.id, sequences)
      await addEntries(parts, of, entries)
      const { bytes, rows } = of.file.take()
      return { bytes, taken: entries.length, written: rows }
    },
    async end(number) {
      const { bytes, rows } = known(number).file.end()
      return { bytes, written: rows }
    },
    async drop(number) {
      exports.delete(number)
    },
  }
}

async function fileOf({ format, end }: ExportAsked): Promise<ExportFile> {
  switch (format) {
    case "jsonl":
      return createJsonlFile(end)
    case "csv":
      return createCsvFile()
    case "parquet": {
      // Its library is loaded by those who need it.
      const { createParquetFile } = await import("./export-parquet.ts")
      return createParquetFile()
    }
  }
}

/** The first of these entries. Those that follow each other closely are read end to end. */
async function readSome(
  { journal }: ExporterParts,
  workspace: string,
  sequences: readonly number[],
): Promise<readonly Stored[]> {
  const [first = 0, last = 0] = [sequences[0], sequences.at(-1)]
  const span = last - first + 1
  if (span > 2 * sequences.length) {
    const found = await journal.at(workspace, sequences, pieceBytesMax)
    return found.map((stored, place) => stored ?? missing(workspace, sequences[place] ?? 0))
  }
  const read = await journal.after(workspace, first - 1, span)
  const stored = new Map(read.map((entry) => [entry.sequence, entry]))
  const end = read.length < span ? (read.at(-1)?.sequence ?? last) : last
  const entries: Stored[] = []
  let bytes = 0
  for (const sequence of sequences) {
    if (entries.length > 0 && (sequence > end || bytes > pieceBytesMax)) break
    const entry = stored.get(sequence) ?? missing(workspace, sequence)
    bytes += bytesOf(entry)
    entries.push(entry)
  }
  return entries
}

async function addEntries(
  { index, registry, source }: ExporterParts,
  { workspace, isProven, wanted, nowMs, file }: Export,
  entries: readonly Stored[],
): Promise<void> {
  const [{ number }] = epochsOf(workspace)
  const checkpoint = await index.checkpoint(workspace.id, number)
  const vkeyFor = vkeysOf(registry)
  const pieceSource = { ...source, registry: remembered(source.registry) }
  // What the search has found can be found.
  const read = { entries, checkpoint, neighbours: new Map(), position: Number.MAX_SAFE_INTEGER }
  for await (const one of findEntries(pieceSource, workspace, read, nowMs, unpaced)) {
    const found = isProven ? await findIncluded(source, one) : one
    const vkey = isProven ? await vkeyFor(found.epoch, found.proven.checkpoint) : undefined
    file.add({ found, workspace, sight: sightOf(found.opened?.content, wanted), vkey })
  }
}

/** Reads each document once: one that says what was destroyed is asked for by many entries. */
function remembered({ get }: Pick<Registry, "get">): Pick<Registry, "get"> {
  const known = new Map<string, Promise<Document | undefined>>()
  return {
    get(kind, workspace, id) {
      const key = `${kind}/${workspace}/${id}`
      const read = known.get(key) ?? get(kind, workspace, id)
      known.set(key, read)
      // The key has the kind, so the document is of that kind.
      return read as never
    },
  }
}
