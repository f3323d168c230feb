// An export as Parquet: groups of rows, column by column, and a footer that says where they are.

import { deserialize, serialize } from "node:v8"
import { constants, zstdCompressSync } from "node:zlib"
import { ByteWriter, ParquetWriter } from "hyparquet-writer"
import { instantOf } from "../store/instant.ts"
import { entryColumns, textOf, type EntryColumn } from "./entry-columns.ts"
import type { ExportWriter, PieceRows, WrittenFile } from "./export-file.ts"
import { seenEntry } from "./verified-entries.ts"

/**
 * Rows and characters of a group, whichever come first: each thread has one in memory. Readers are
 * slower with groups of fewer than some thousand rows.
 */
const groupRowsMax = 8192
const groupCharactersMax = 8 * 1024 * 1024

/** Most of a file are hashes and ids, which no level makes smaller. */
const compression = {
  params: { [constants.ZSTD_c_compressionLevel]: 1 },
  // Enough for most pages, so that Node need not join what it has compressed.
  chunkSize: 256 * 1024,
}

type RowGroup = ParquetWriter["row_groups"][number]

export const parquetWriter: ExportWriter = {
  head: Buffer.from("PAR1"),
  begin: beginGroup,
  end: footerOf,
}

/** Each piece is one group. */
function beginGroup(): PieceRows {
  const columns = entryColumns.map(({ type, valueOf }) => ({
    type,
    valueOf,
    data: [] as (string | bigint | boolean | null)[],
  }))
  let [rows, characters] = [0, 0]
  return {
    add({ found, workspace, sight }) {
      const entry = seenEntry(found, workspace, sight)
      for (const { type, valueOf, data } of columns) {
        const value = cellOf(type, valueOf(entry))
        data.push(value)
        if (typeof value === "string") characters += value.length
      }
      rows += 1
    },
    isFull: () => rows >= groupRowsMax || characters >= groupCharactersMax,
    take() {
      const { file, writer } = openFile()
      // Minimum and maximum of texts do not help readers to skip a group, and cost a comparison for
      // each value.
      const columnData = entryColumns.map(({ name, type }, at) => ({
        name,
        data: columns[at]?.data ?? [],
        statistics: type === "integer" || type === "time",
        offsetIndex: false,
      }))
      void file.write({ columnData, rowGroupSize: rows })
      const [group] = file.row_groups
      return { bytes: writer.getBytes().slice(), note: serialize(group) }
    },
  }
}

function footerOf({ notes, count, broken, sequence }: WrittenFile): Uint8Array {
  const { file, writer } = openFile()
  // As in the last line of JSON lines. `tallystick events export` reads it.
  const end = JSON.stringify({ end: { count, broken, sequence } })
  file.kvMetadata = [{ key: "tallystick", value: end }]
  for (const { at, note } of notes) {
    // The note of a group, as `take` made it.
    const group = movedBy(at, deserialize(note) as RowGroup)
    file.row_groups.push(group)
    file.num_rows += group.num_rows
  }
  void file.finish()
  return writer.getBytes().slice()
}

/** A writer in its initial state, because the head of the file is not part of its pieces. */
function openFile() {
  const writer = new ByteWriter()
  const file = new ParquetWriter({
    writer,
    schema: [
      { name: "entries", num_children: entryColumns.length },
      ...entryColumns.map(elementOf),
    ],
    codec: "ZSTD",
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes, compression) },
    createdBy: "tallystick",
  })
  writer.index = 0
  writer.offset = 0
  return { file, writer }
}

/** Offsets of a group count from its piece; those of the footer from the beginning of the file. */
function movedBy(at: number, { columns, ...group }: RowGroup): RowGroup {
  const start = BigInt(at)
  return {
    ...group,
    columns: columns.map((column) => {
      const { meta_data, file_offset } = column
      if (meta_data === undefined) throw new Error("a column that was written has its metadata")
      const { data_page_offset, dictionary_page_offset } = meta_data
      return {
        ...column,
        file_offset: file_offset + start,
        meta_data: {
          ...meta_data,
          data_page_offset: data_page_offset + start,
          ...(dictionary_page_offset !== undefined && {
            dictionary_page_offset: dictionary_page_offset + start,
          }),
        },
      }
    }),
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

/** Null for an absent value, and for the empty values of an unreadable entry. */
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
  // The service writes times in this form, which the engine parses ten times as fast.
  const ms = time.length === 24 && time.endsWith("Z") ? Date.parse(time) : Number.NaN
  if (!Number.isNaN(ms)) return BigInt(ms) * 1000n
  const instant = instantOf(time)
  return instant === undefined
    ? null
    : BigInt(instant.ms) * 1000n + BigInt(Math.floor(instant.ns / 1000))
}
