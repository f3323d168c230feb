// Exports as lines of text: JSON, or CSV by RFC 4180.

import type { ExportEnd } from "@tallystick/client/wire"
import { csvLine } from "@tallystick/proof"
import { showRow } from "./build-page.ts"
import { entryColumns, textOf } from "./entry-columns.ts"
import { createTextRows, type ExportWriter } from "./export-file.ts"
import { seenEntry } from "./verified-entries.ts"

/** An entry of a page on each line, and a last line by which a reader knows that nothing is missing. */
export const jsonlWriter: ExportWriter = {
  head: new Uint8Array(),
  begin: () => createTextRows((row) => `${showRow(row)}\n`),
  end({ count, broken, sequence, sha256 }) {
    const line: ExportEnd = { end: { count, broken, sequence, sha256 } }
    return Buffer.from(`${JSON.stringify(line)}\n`)
  },
}

/** No cell is a formula. */
export const csvWriter: ExportWriter = {
  head: Buffer.from(csvLine(entryColumns.map(({ name }) => name))),
  begin: () =>
    createTextRows(({ found, workspace, sight }) => {
      const entry = seenEntry(found, workspace, sight)
      return csvLine(entryColumns.map(({ valueOf }) => textOf(valueOf(entry))))
    }),
  end: () => new Uint8Array(),
}
