// Rows of an answer as a table for people, as JSON lines, or as CSV.

import { csvLine, printable, printableJson } from "@tallystick/proof"
import { textOf } from "../query/entry-columns.ts"
import { tableLike, type Column, type TableRows } from "./table.ts"
import type { Terminal } from "./terminal.ts"

export type Format = "table" | "jsonl" | "csv"

/** A value of a row, by its name. */
export type Field<Row> = readonly [name: string, valueOf: (row: Row) => unknown]

/** What is shown of a kind of row. As JSON it is shown whole. */
export interface Shown<Row> {
  readonly table: readonly (Column & { readonly cellOf: (row: Row) => string })[]
  readonly csv: readonly Field<Row>[]
}

type Widths = "needed" | "usual"

/** Prints rows below those before. */
export type PrintRows<Row> = (rows: readonly Row[]) => void

/** The columns of a table are as wide as the first rows need, or as usual. */
export function rowPrinter<Row>(
  { say, columns }: Pick<Terminal, "say" | "columns">,
  format: Format,
  shown: Shown<Row>,
  widths: Widths = "needed",
): PrintRows<Row> {
  switch (format) {
    case "table":
      return tablePrinter(say, columns, shown.table, widths)
    case "jsonl":
      return (rows) => rows.forEach((row) => say(`${printableJson(row)}\n`))
    case "csv":
      return csvPrinter(say, columns, shown.csv)
  }
}

/** Also of no rows it prints the names. */
function csvPrinter<Row>(
  say: Terminal["say"],
  columns: number | undefined,
  fields: readonly Field<Row>[],
): PrintRows<Row> {
  // A file has the text as it is; a terminal must not obey it.
  const cell = (text: string): string => (columns === undefined ? text : printable(text))
  let hasNames = false
  return (rows) => {
    if (!hasNames) say(csvRow(fields.map(([name]) => name)))
    hasNames = true
    for (const row of rows) say(csvRow(fields.map(([, valueOf]) => cell(textOf(valueOf(row))))))
  }
}

function tablePrinter<Row>(
  say: Terminal["say"],
  columns: number | undefined,
  table: Shown<Row>["table"],
  widths: Widths,
): PrintRows<Row> {
  let format: TableRows | undefined
  return (rows) => {
    if (rows.length === 0) return
    const cells = rows.map((row) => table.map(({ cellOf }) => cellOf(row)))
    if (format === undefined) {
      format = tableLike(widths === "usual" ? widths : cells, table, columns)
      say(format([table.map(({ title }) => title)]))
    }
    say(format(cells))
  }
}

/** By RFC 4180, and no cell is a formula, as in the `entries.csv` of an evidence pack. */
function csvRow(cells: readonly string[]): string {
  return csvLine(cells, 2)
}
