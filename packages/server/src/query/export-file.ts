// The file of an export, as it is written: rows go in, bytes come out.

import type { ShownRow } from "./build-page.ts"

export type { ExportFormat } from "@tallystick/client/wire"

export interface ExportFile {
  add(row: ShownRow): void
  /** The bytes that are complete and were not taken yet. */
  take(): Taken
  /** The rest of the bytes, after the last row was added. */
  end(): Taken
}

interface Taken {
  readonly bytes: Uint8Array
  /** Rows whose last byte is among these. */
  readonly rows: number
}

/** Text of rows that is waiting to be taken. */
export function createRowText(): Pick<ExportFile, "take"> & { add(text: string): void } {
  let text = ""
  let rows = 0
  return {
    add(row) {
      text += row
      rows += 1
    },
    take() {
      const taken = { bytes: Buffer.from(text), rows }
      text = ""
      rows = 0
      return taken
    },
  }
}
