/**
 * A line of CSV by RFC 4180, every cell in quotes, so that nothing in a cell can end it.
 *
 * Spreadsheets treat a cell that begins with certain characters as a formula, which may send data
 * to a stranger. Such a cell gets a leading apostrophe, which marks it as text in spreadsheets. A
 * cell that begins with an apostrophe gets another one, so no two texts become the same cell.
 */
export function csvLine(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const escaped = cell.includes('"') ? cell.replaceAll('"', '""') : cell
    return `"${quotedStarts.has(cell[0]) ? "'" : ""}${escaped}"`
  })
  return `${written.join(",")}\r\n`
}

/**
 * The full-width forms too, because some programs treat them like the ordinary ones. An empty cell
 * has no first character.
 */
const quotedStarts: ReadonlySet<string | undefined> = new Set("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'")
