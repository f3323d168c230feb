/**
 * A line of CSV by RFC 4180, every cell in quotes, so that nothing in a cell can end it.
 *
 * Spreadsheets treat a cell that begins with certain characters as a formula, which may send data
 * to a stranger. Such a cell gets a leading apostrophe, which marks it as text in spreadsheets. In
 * form 1 of a pack `'=1` and `=1` became the same cell; since form 2 a cell that begins with an
 * apostrophe gets another one, so no two texts meet.
 */
export function csvLine(cells: readonly string[], form: PackForm): string {
  const quoted = form === 1 ? formulaStarts : quotedStarts
  const written = cells.map((cell) => {
    const escaped = cell.includes('"') ? cell.replaceAll('"', '""') : cell
    return `"${quoted.has(cell[0]) ? "'" : ""}${escaped}"`
  })
  return `${written.join(",")}\r\n`
}

/** The form of a pack. Packs from before form 2 do not state it. */
export type PackForm = 1 | 2

/**
 * The full-width forms too, because some programs treat them like the ordinary ones. An empty cell
 * has no first character.
 */
const formulaStarts: ReadonlySet<string | undefined> = new Set("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
const quotedStarts: ReadonlySet<string | undefined> = new Set([...formulaStarts, "'"])
