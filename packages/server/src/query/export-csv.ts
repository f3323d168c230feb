// An export as CSV by RFC 4180. No cell is a formula.

import { csvLine } from "@tallystick/proof"
import { entryColumns, textOf } from "./entry-columns.ts"
import { createRowText, type ExportFile } from "./export-file.ts"
import { seenEntry } from "./verified-entries.ts"

export function createCsvFile(): ExportFile {
  const text = createRowText()
  let head = Buffer.from(
    csvLine(
      entryColumns.map(({ name }) => name),
      2,
    ),
  )
  const takeHead = (): Buffer => {
    const taken = head
    head = Buffer.alloc(0)
    return taken
  }
  return {
    add({ found, workspace, sight }) {
      const entry = seenEntry(found, workspace, sight)
      text.add(
        csvLine(
          entryColumns.map(({ valueOf }) => textOf(valueOf(entry))),
          2,
        ),
      )
    },
    take() {
      const { bytes, rows } = text.take()
      return { bytes: Buffer.concat([takeHead(), bytes]), rows }
    },
    // Of no rows there are the names.
    end: () => ({ bytes: takeHead(), rows: 0 }),
  }
}
