// Tables for people: aligned columns, in which invisible characters are shown by their number. A
// table is as wide as the terminal.

import { printable } from "@tallystick/proof"

export interface Column {
  readonly title: string
  /** The width of the column if the rows are not known yet. */
  readonly usual?: number
  /** Whether a narrow terminal cuts it. Other columns are left out, the last one first. */
  readonly canShrink?: boolean
}

/** Formats rows, with the column widths that the first rows need. */
export type TableRows = (rows: readonly (readonly string[])[]) => string

/** A short table, whose first row has the titles. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const columns = (rows[0] ?? []).map((title) => ({ title }))
  return tableLike(rows, columns, undefined)(rows)
}

/** Columns are as wide as the sample needs. Without a terminal, nothing is cut. */
export function tableLike(
  sample: readonly (readonly string[])[] | "usual",
  columns: readonly Column[],
  terminalColumns: number | undefined,
): TableRows {
  const needed = columns.map(({ title, usual = 0 }, at) => {
    const others = sample === "usual" ? [usual] : sample.map((row) => widthOf(shownIn(row, at)))
    return Math.max(widthOf(title), ...others)
  })
  const widths = terminalColumns === undefined ? needed : fitted(needed, columns, terminalColumns)
  return (rows) =>
    rows
      .map((row) => {
        const cells = widths.map((width, at) => {
          const canCut = terminalColumns !== undefined && columns[at]?.canShrink === true
          return padded(shownIn(row, at), width, canCut)
        })
        return `${cells.join(gap).trimEnd()}\n`
      })
      .join("")
}

function shownIn(row: readonly string[], at: number): string {
  return printable(row[at] ?? "")
}

const gap = "  "
/** A column is not cut below this width, because the rest would be useless. */
const widthMin = 8

function fitted(
  needed: readonly number[],
  columns: readonly Column[],
  terminalColumns: number,
): readonly number[] {
  const least = needed.map((width, at) =>
    columns[at]?.canShrink ? Math.min(width, widthMin) : width,
  )
  let count = needed.length
  while (count > 1 && sumOf(least.slice(0, count)) > terminalColumns) count--
  const widths = needed.slice(0, count)
  while (sumOf(widths) > terminalColumns) {
    const cuttable = widths.map((width, at) => (width > (least[at] ?? width) ? width : 0))
    const widest = Math.max(...cuttable)
    if (widest === 0) break
    widths[cuttable.indexOf(widest)] = widest - 1
  }
  return widths
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1))
}

function padded(text: string, width: number, canCut: boolean): string {
  const taken = widthOf(text)
  if (taken <= width || !canCut) return text + " ".repeat(Math.max(0, width - taken))
  let cut = ""
  let cutWidth = 0
  for (const { segment } of graphemes.segment(text)) {
    if (cutWidth + widthOf(segment) >= width) break
    cut += segment
    cutWidth += widthOf(segment)
  }
  return `${cut}…${" ".repeat(width - cutWidth - 1)}`
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })
const plain = /^[\u0020-\u007e]*$/
/** Characters that terminals draw two columns wide. */
const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\u3000-\u3020\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u

/** The width of a text in terminal columns. */
function widthOf(text: string): number {
  if (plain.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}
