// An export as JSON lines: an entry of a page on each, and a last line by which a reader knows that
// nothing is missing.

import type { ExportEnd } from "@tallystick/client/wire"
import { showRow } from "./build-page.ts"
import { createTextRows, type ExportWriter } from "./export-file.ts"

export const jsonlWriter: ExportWriter = {
  head: new Uint8Array(),
  begin: () => createTextRows((row) => `${showRow(row)}\n`),
  end({ count, broken, sequence, sha256 }) {
    const line: ExportEnd = { end: { count, broken, sequence, sha256 } }
    return Buffer.from(`${JSON.stringify(line)}\n`)
  },
}
