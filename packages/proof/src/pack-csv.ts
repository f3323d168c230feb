/**
 * A line of CSV by RFC 4180, every cell in quotes, so that nothing in a cell can end it.
 *
 * Spreadsheets take a cell that begins with one of certain characters for a formula, which may send what it finds to a stranger. Such a cell
 * gets an apostrophe in front, which spreadsheets know as "this is text".
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${(formula.test(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`).join(",")}\r\n`
}

/** The full-width forms too: some programs take them for the ordinary ones. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
