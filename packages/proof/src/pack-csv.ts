/**
 * A line of CSV by RFC 4180, every cell in quotes, so that nothing in a cell can end it.
 *
 * Spreadsheets take a cell that begins with one of certain characters for a formula, which may send
 * what it finds to a stranger. Such a cell gets an apostrophe in front, which spreadsheets know as
 * "this is text". In form 1 of a pack `'=1` and `=1` became the same cell; since form 2 a cell that
 * begins with an apostrophe gets another one, so no two texts meet.
 */
export function csvLine(cells: readonly string[], form: PackForm): string {
  const quoted = form === 1 ? formulaStarts : quotedStarts
  const written = cells.map((cell) => {
    const escaped = cell.includes('"') ? cell.replaceAll('"', '""') : cell
    return `"${quoted.has(cell[0]) ? "'" : ""}${escaped}"`
  })
  return `${written.join(",")}\r\n`
}

/** The form of a pack. Those that were made before there was a second one do not say theirs. */
export type PackForm = 1 | 2

/** The full-width forms too: some programs take them for the ordinary ones. Of an empty cell there is none. */
const formulaStarts: ReadonlySet<string | undefined> = new Set("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
const quotedStarts: ReadonlySet<string | undefined> = new Set([...formulaStarts, "'"])
