// An export as Parquet: groups of rows, column by column, and a footer that says where they are.

import { zstdCompressSync } from "node:zlib"
import { ByteWriter, ParquetWriter } from "hyparquet-writer"
import { instantOf } from "../store/instant.ts"
import { entryColumns, textOf, type EntryColumn } from "./entry-columns.ts"
import type { ExportFile } from "./export-file.ts"
import { seenEntry } from "./verified-entries.ts"

/** Rows and characters of a group, whichever come first: what an export has in memory. */
const groupRowsMax = 16_384
const groupCharactersMax = 16 * 1024 * 1024

export function createParquetFile(): ExportFile {
  const writer = new ByteWriter()
  const file = new ParquetWriter({
    writer,
    schema: [
      { name: "entries", num_children: entryColumns.length },
      ...entryColumns.map(elementOf),
    ],
    codec: "ZSTD",
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
    createdBy: "tallystick",
  })
  let group = entryColumns.map((): unknown[] => [])
  let [rows, characters, written] = [0, 0, 0]

  const writeGroup = (): void => {
    if (rows === 0) return
    // Of texts, smallest and largest help no reader to skip a group, and cost a comparison each.
    const columnData = entryColumns.map(({ name, type }, at) => ({
      name,
      data: group[at] ?? [],
      statistics: type === "integer" || type === "time",
    }))
    void file.write({ columnData, rowGroupSize: rows })
    written += rows
    group = entryColumns.map(() => [])
    rows = 0
    characters = 0
  }
  const take = (): ReturnType<ExportFile["take"]> => {
    const taken = { bytes: Buffer.from(writer.getBytes()), rows: written }
    // Offsets in the footer count from the beginning of the file.
    writer.index = 0
    written = 0
    return taken
  }
  return {
    add({ found, workspace, sight }) {
      const entry = seenEntry(found, workspace, sight)
      for (const [at, { type, valueOf }] of entryColumns.entries()) {
        const value = cellOf(type, valueOf(entry))
        group[at]?.push(value)
        if (typeof value === "string") characters += value.length
      }
      rows += 1
      if (rows >= groupRowsMax || characters >= groupCharactersMax) writeGroup()
    },
    take,
    end() {
      writeGroup()
      void file.finish()
      return take()
    },
  }
}

function elementOf({ name, type }: EntryColumn) {
  const element = { name, repetition_type: "OPTIONAL" } as const
  switch (type) {
    case "text":
    case "json":
      return { ...element, type: "BYTE_ARRAY", converted_type: "UTF8" } as const
    case "integer":
      return { ...element, type: "INT64" } as const
    case "boolean":
      return { ...element, type: "BOOLEAN" } as const
    case "time":
      return {
        ...element,
        type: "INT64",
        converted_type: "TIMESTAMP_MICROS",
        logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
      } as const
  }
}

/** Null for what is absent, and for what an unreadable entry has in place of a value. */
function cellOf(type: EntryColumn["type"], value: unknown): string | bigint | boolean | null {
  switch (type) {
    case "text":
    case "json":
      return value === undefined ? null : textOf(value)
    case "integer":
      return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : null
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "time":
      return microsecondsOf(textOf(value))
  }
}

function microsecondsOf(time: string): bigint | null {
  const instant = instantOf(time)
  return instant === undefined
    ? null
    : BigInt(instant.ms) * 1000n + BigInt(Math.floor(instant.ns / 1000))
}
