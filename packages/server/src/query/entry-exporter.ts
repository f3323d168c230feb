// Writes entries into the files of exports, a piece at a time: reads them, verifies them as for a
// page, and shows what the reader may see.

import { unpaced } from "../runtime/pace.ts"
import { frameEntries } from "../store/body-frame.ts"
import { bytesOf, type Stored } from "../store/entries.ts"
import { epochsOf } from "../store/epochs.ts"
import type { Wanted } from "../store/search/search.ts"
import type { Document, Workspace } from "../store/documents.ts"
import type { ReadStore, Registry } from "../store/store.ts"
import { missing, sightOf, vkeysOf } from "./build-page.ts"
import { csvWriter, jsonlWriter } from "./export-text.ts"
import type { ExportFormat, ExportWriter, PieceBytes, WrittenFile } from "./export-file.ts"
import { findEntries, findIncluded, nothingHeld, type EntrySource } from "./verified-entries.ts"

export interface ExportAsked {
  readonly workspace: Workspace
  readonly format: ExportFormat
  readonly isProven: boolean
  /** The search, limited to what this reader may see. */
  readonly wanted: Wanted
  readonly nowMs: number
}

export interface ExportPiece extends PieceBytes {
  /**
   * The number of sequences that were read: at least one, fewer than all if their entries are
   * large.
   */
  readonly taken: number
  /** The number of broken entries among them. */
  readonly broken: number
}

export interface EntryExporter {
  /** The first bytes of a file. */
  head(format: ExportFormat): Promise<Uint8Array>
  /** Writes the first of these entries, whose sequences ascend. */
  write(asked: ExportAsked, sequences: readonly number[]): Promise<ExportPiece>
  /** The last bytes of a file. */
  end(format: ExportFormat, written: WrittenFile): Promise<Uint8Array>
}

export interface ExporterParts extends Pick<ReadStore, "journal" | "registry" | "index"> {
  readonly source: EntrySource
}

/** Bodies and disclosures that are read at once, of one entry at least. */
const readBytesMax = 1024 * 1024
/** The search found it, so it is in the index. */
const position = Number.MAX_SAFE_INTEGER
/**
 * Entries that are read at once, those of a frame. Few enough to be garbage before they are
 * promoted to the old generation.
 */
const readEntriesMax = frameEntries

export function createEntryExporter(parts: ExporterParts): EntryExporter {
  return {
    head: async (format) => (await writerOf(format)).head,
    async write(asked, sequences) {
      const { workspace, isProven, wanted, format, nowMs } = asked
      const { index, registry } = parts
      const rows = (await writerOf(format)).begin()
      const [{ number }] = epochsOf(workspace)
      const checkpoint = await index.checkpoint(workspace.id, number)
      const vkeyFor = vkeysOf(registry)
      let [taken, broken] = [0, 0]
      while (taken < sequences.length && !rows.isFull()) {
        const some = sequences.slice(taken, taken + readEntriesMax)
        const entries = await readSome(parts, workspace.id, some)
        // What is missing of these was recorded before they were read; of later ones perhaps not.
        const source = { ...parts.source, registry: remembered(registry) }
        const read = { entries, checkpoint, ...nothingHeld, position }
        for await (const one of findEntries(source, workspace, read, nowMs, unpaced)) {
          const found = isProven ? await findIncluded(source, one) : one
          const vkey = isProven ? await vkeyFor(found.epoch, found.proven.checkpoint) : undefined
          rows.add({ found, workspace, sight: sightOf(found.opened?.content, wanted), vkey })
          if (found.integrity === "broken") broken += 1
        }
        taken += entries.length
      }
      return { ...rows.take(), taken, broken }
    },
    end: async (format, written) => (await writerOf(format)).end(written),
  }
}

async function writerOf(format: ExportFormat): Promise<ExportWriter> {
  switch (format) {
    case "jsonl":
      return jsonlWriter
    case "csv":
      return csvWriter
    case "parquet":
      // Its library is loaded only if it is needed.
      return (await import("./export-parquet.ts")).parquetWriter
  }
}

/** The first of these entries. Those that are close to each other are read end to end. */
async function readSome(
  { journal }: ExporterParts,
  workspace: string,
  sequences: readonly number[],
): Promise<readonly Stored[]> {
  const [first = 0, last = 0] = [sequences[0], sequences.at(-1)]
  const span = last - first + 1
  if (span > 2 * sequences.length) {
    const found = await journal.at(workspace, sequences, readBytesMax)
    return found.map((stored, place) => stored ?? missing(workspace, sequences[place] ?? 0))
  }
  const read = await journal.after(workspace, first - 1, span)
  const stored = new Map(read.map((entry) => [entry.sequence, entry]))
  const end = read.length < span ? (read.at(-1)?.sequence ?? last) : last
  const entries: Stored[] = []
  let bytes = 0
  for (const sequence of sequences) {
    if (entries.length > 0 && (sequence > end || bytes > readBytesMax)) break
    const entry = stored.get(sequence) ?? missing(workspace, sequence)
    bytes += bytesOf(entry)
    entries.push(entry)
  }
  return entries
}

/** Reads each document once: many entries ask for the one that says what was destroyed. */
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
