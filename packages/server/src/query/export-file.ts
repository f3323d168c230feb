// The file of an export: a head, pieces that are made independently of each other, and an end. So
// several pieces can be made at once.

import type { ShownRow } from "./build-page.ts"

export type { ExportFormat } from "@tallystick/client/wire"

/** The writer of one format. */
export interface ExportWriter {
  readonly head: Uint8Array
  begin(): PieceRows
  end(written: WrittenFile): Uint8Array
}

export interface PieceRows {
  add(row: ShownRow): void
  /** Whether the piece has as many rows as it should. */
  isFull(): boolean
  take(): PieceBytes
}

export interface PieceBytes {
  readonly bytes: Uint8Array
  /** What the end of the file needs to know about this piece, if anything. */
  readonly note?: Uint8Array
}

/** What was written before the end. */
export interface WrittenFile {
  readonly count: number
  readonly broken: number
  /** The last recorded entry when the export began. */
  readonly sequence: number
  /** SHA-256 of all bytes so far, for JSON lines. */
  readonly sha256: string
  readonly notes: readonly PlacedNote[]
}

/** The note of a piece, and where in the file the piece begins. */
export interface PlacedNote {
  readonly at: number
  readonly note: Uint8Array
}

/** A piece with this many characters is full. */
const charactersMax = 2 * 1024 * 1024
/**
 * Characters that are joined before they are converted to bytes: a conversion has a fixed cost of
 * many characters.
 */
const charactersAtOnce = 64 * 1024

/** A piece of text that grows with each row. */
export function createTextRows(textOf: (row: ShownRow) => string): PieceRows {
  const chunks: Buffer[] = []
  let text = ""
  let characters = 0
  const convert = (): void => {
    chunks.push(Buffer.from(text))
    text = ""
  }
  return {
    add(row) {
      const added = textOf(row)
      text += added
      characters += added.length
      if (text.length >= charactersAtOnce) convert()
    },
    isFull: () => characters >= charactersMax,
    take() {
      convert()
      return { bytes: Buffer.concat(chunks) }
    },
  }
}
