// Rows of an answer as a table for people, as JSON lines, or as CSV.

import { csvLine, printable, printableJson } from "@tallystick/proof"
import { textOf } from "../query/entry-columns.ts"
import { tableLike, type Column, type TableRows } from "./table.ts"
import type { Terminal } from "./terminal.ts"

export type Format = "table" | "jsonl" | "csv"

export type Field<Row> = readonly [name: string, valueOf: (row: Row) => unknown]

/** The columns of a kind of row. JSON lines contain the whole row. */
export interface Shown<Row> {
  readonly table: readonly (Column & { readonly cellOf: (row: Row) => string })[]
  readonly csv: readonly Field<Row>[]
}

type Widths = "needed" | "usual"

export type PrintRows<Row> = (rows: readonly Row[]) => void

/** The columns of a table are as wide as the first rows need, or have their usual widths. */
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

/**
 * Prints the names of the columns even if there are no rows. No cell can act as a formula, as in the
 * `entries.csv` of an evidence pack.
 */
function csvPrinter<Row>(
  say: Terminal["say"],
  columns: number | undefined,
  fields: readonly Field<Row>[],
): PrintRows<Row> {
  // A file gets the raw text. For a terminal, control characters are escaped.
  const cell = (text: string): string => (columns === undefined ? text : printable(text))
  let hasNames = false
  return (rows) => {
    if (!hasNames) say(csvLine(fields.map(([name]) => name)))
    hasNames = true
    for (const row of rows) say(csvLine(fields.map(([, valueOf]) => cell(textOf(valueOf(row))))))
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
