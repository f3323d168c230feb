// An export as JSON lines: an entry of a page on each, and a last line by which a reader knows that
// nothing is missing.

import { createHash } from "node:crypto"
import type { ExportEnd } from "@tallystick/client/wire"
import { showRow } from "./build-page.ts"
import { createRowText, type ExportFile } from "./export-file.ts"

/** `sequence`: the last recorded entry when the export began. */
export function createJsonlFile(sequence: number): ExportFile {
  const text = createRowText()
  const hashing = createHash("sha256")
  let [count, broken] = [0, 0]
  return {
    add(row) {
      if (row.found.integrity === "broken") broken += 1
      text.add(`${showRow(row)}\n`)
    },
    take() {
      const taken = text.take()
      hashing.update(taken.bytes)
      count += taken.rows
      return taken
    },
    end() {
      const line: ExportEnd = { end: { count, broken, sequence, sha256: hashing.digest("hex") } }
      return { bytes: Buffer.from(`${JSON.stringify(line)}\n`), rows: 0 }
    },
  }
}
