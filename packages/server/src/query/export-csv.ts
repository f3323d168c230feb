// An export as CSV by RFC 4180. No cell is a formula.

import { csvLine } from "@tallystick/proof"
import { entryColumns, textOf } from "./entry-columns.ts"
import { createTextRows, type ExportWriter } from "./export-file.ts"
import { seenEntry } from "./verified-entries.ts"

export const csvWriter: ExportWriter = {
  head: Buffer.from(csvLine(entryColumns.map(({ name }) => name))),
  begin: () =>
    createTextRows(({ found, workspace, sight }) => {
      const entry = seenEntry(found, workspace, sight)
      return csvLine(entryColumns.map(({ valueOf }) => textOf(valueOf(entry))))
    }),
  end: () => new Uint8Array(),
}
