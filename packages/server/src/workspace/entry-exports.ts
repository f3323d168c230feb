// Exports of entries: all matches of a query as one file, however many. Each is recorded twice:
// before its first byte, who asked for what; and at its end, how many entries were given out.

import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import type { EventsExportQuery } from "@tallystick/client/wire"
import type { JsonObject } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { CountRequest, Queries } from "../query/entry-queries.ts"
import type { EntryExporter, ExportPiece } from "../query/entry-exporter.ts"
import type { ExportFormat, PlacedNote } from "../query/export-file.ts"
import { createFairQueue, type FairQueue } from "../runtime/fair-queue.ts"
import type { Workspace } from "../store/documents.ts"
import type { Store } from "../store/store.ts"
import { recordEventsExport, recordEventsExportEnd } from "./recorded-reads.ts"
import type { Principal } from "./permissions.ts"
import { createSending } from "./sent-content.ts"

export interface ExportRequest
  extends Omit<CountRequest, "signal">, Pick<EventsExportQuery, "format" | "after"> {
  readonly isProven: boolean
  /** The request, as the entry records it. */
  readonly filter: JsonObject
  /** Throws once the credential is no longer valid. */
  readonly recheck: () => Promise<unknown>
}

/** An export to send. It counts against the limit of exports until `content` is closed. */
export interface StartedExport {
  /** The last recorded entry when it began. */
  readonly sequence: number
  /** Of the entry that records it. */
  readonly receipt: string
  readonly content: Readable
}

export interface EntryExports {
  /** Records nothing if the signal is aborted before it is this export's turn. */
  begin(
    by: Principal,
    workspace: Workspace,
    request: ExportRequest,
    signal: AbortSignal,
  ): Promise<StartedExport>
}

export interface ExportParts {
  readonly store: Pick<Store, "journal">
  readonly ledger: Ledger
  readonly clock: Clock
  readonly limits: Limits
  readonly queries: Pick<Queries, "matches">
  readonly exporter: EntryExporter
  /** Called with the entries of each piece that is given out. */
  readonly report: { readonly exported: (format: string, entries: number) => void }
}

/** Bytes that may wait for the client. */
const aheadBytes = 512 * 1024
/** Given to the connection at once. A client that takes none in a while counts as still. */
const blockBytes = 64 * 1024
/** Pieces of an export that are being made or wait: one for each thread, and one ready. */
const piecesAhead = 3
/** Entries of a piece, if they are not large: whole frames. A piece of Parquet is a group of rows. */
const entriesOfPiece = { jsonl: 1024, csv: 1024, parquet: 8192 } as const

export function createEntryExports(parts: ExportParts): EntryExports {
  const { store, clock, limits } = parts
  const { exportsWaitingMax: waitingMax } = limits
  const send = createSending(clock, {
    of: "exports",
    atOnceMax: limits.exportsAtOnceMax,
    perWorkspaceMax: limits.exportsOfWorkspaceMax,
    waitingMax,
    waitMs: limits.exportWaitMs,
    stillMs: limits.contestedStillMs,
  })
  // Workspaces take turns at each piece. An export that has begun waits longer than one that has not.
  const making = createFairQueue(clock, {
    of: "exports",
    atOnceMax: 2 * piecesAhead,
    perWorkspaceMax: piecesAhead,
    waitingMax,
    waitMs: limits.exportPatienceMs,
  })
  return {
    begin: (by, workspace, request, signal) =>
      send(workspace.id, signal, async () => {
        const { format, after, filter } = request
        const sequence = (await store.journal.head(workspace.id))?.sequence ?? 0
        const asked = { filter, format, after, sequence }
        const receipt = await recordEventsExport(parts, by, workspace, asked)
        const started = { by, workspace, request, signal, sequence, receipt, making }
        const content = Readable.from(bytesOf(parts, started), {
          objectMode: false,
          highWaterMark: aheadBytes,
        })
        return { sequence, receipt, content }
      }),
  }
}

interface Started {
  readonly by: Principal
  readonly workspace: Workspace
  readonly request: ExportRequest
  readonly signal: AbortSignal
  readonly sequence: number
  readonly receipt: string
  readonly making: FairQueue
}

/**
 * The bytes of the file. Throws before their end if the client has left, its credential has ended or
 * an entry cannot be read.
 */
async function* bytesOf(parts: ExportParts, started: Started): AsyncGenerator<Uint8Array> {
  const { exporter, report } = parts
  const { by, workspace, request, signal, sequence, receipt } = started
  const { format } = request
  const file = createFile(format)
  let isRecorded = false
  const record = async (complete: boolean): Promise<void> => {
    isRecorded = true
    const metadata = { exportReceiptId: receipt, entries: file.written().count, complete }
    await recordEventsExportEnd(parts, by, workspace, metadata)
  }
  try {
    // Nobody would read the bytes to their end, and the export would never give its place back.
    signal.throwIfAborted()
    const head = await exporter.head(format)
    file.add({ bytes: head, taken: 0, broken: 0 })
    if (head.length > 0) yield head
    for await (const piece of piecesOf(parts, started)) {
      // A large file takes hours to be sent.
      await request.recheck()
      file.add(piece)
      report.exported(format, piece.taken)
      for (let at = 0; at < piece.bytes.length; at += blockBytes)
        yield piece.bytes.subarray(at, at + blockBytes)
    }
    const end = await exporter.end(format, { ...file.written(), sequence })
    // Recorded before the last bytes, so an export that cannot be recorded stays incomplete.
    await record(true)
    yield end
  } finally {
    // If this entry cannot be written, the first one still records the export.
    if (!isRecorded) await record(false).catch(() => undefined)
  }
}

/** The state of the file so far. */
function createFile(format: ExportFormat) {
  const hashing = createHash("sha256")
  const notes: PlacedNote[] = []
  let [count, broken, at] = [0, 0, 0]
  return {
    add(piece: ExportPiece): void {
      // Only JSON lines state their hash.
      if (format === "jsonl") hashing.update(piece.bytes)
      if (piece.note !== undefined) notes.push({ at, note: piece.note })
      count += piece.taken
      broken += piece.broken
      at += piece.bytes.length
    },
    written: () => ({ count, broken, notes, sha256: hashing.copy().digest("hex") }),
  }
}

/** The pieces of the file in order. Some are made ahead. */
async function* piecesOf(parts: ExportParts, started: Started): AsyncGenerator<ExportPiece> {
  const { exporter, clock } = parts
  const { workspace, request, signal, making } = started
  const { wanted, format, isProven } = request
  const nowMs = clock.now()
  const asked = { workspace, format, isProven, wanted, nowMs }
  const begin = (sequences: readonly number[]) => {
    const piece = making.run(workspace.id, signal, () => exporter.write(asked, sequences))
    // It is awaited later, or never if the reader stops.
    piece.catch(() => undefined)
    return { sequences, piece }
  }
  const ahead: ReturnType<typeof begin>[] = []
  async function* taken(least: number): AsyncGenerator<ExportPiece> {
    while (ahead.length > least) {
      const [{ sequences, piece }] = ahead.splice(0, 1) as [(typeof ahead)[number]] // there is one
      const made = await piece
      if (made.taken < sequences.length) ahead.unshift(begin(sequences.slice(made.taken)))
      yield made
    }
  }
  const matches = oneAhead(matchesOf(parts, started))
  for await (const sequences of inStretches(matches, entriesOfPiece[format])) {
    ahead.push(begin(sequences))
    yield* taken(piecesAhead - 1)
  }
  yield* taken(0)
}

/** The same sequences in lists of this length; the last may be shorter. */
async function* inStretches(
  lists: AsyncIterable<readonly number[]>,
  length: number,
): AsyncGenerator<readonly number[]> {
  const stretch: number[] = []
  for await (const list of lists) {
    stretch.push(...list)
    while (stretch.length >= length) yield stretch.splice(0, length)
  }
  if (stretch.length > 0) yield stretch
}

function matchesOf(
  { queries, clock, limits }: ExportParts,
  { workspace, request: { wanted, storage, after }, sequence, signal }: Started,
): AsyncGenerator<readonly number[], void, undefined> {
  /** Most of an export may have been sent already, so it waits where a page would be refused. */
  const failed = async (error: unknown, times: number): Promise<void> => {
    const mayPass = error instanceof LedgerError && error.code === "overloaded"
    if (!mayPass || times * tryAgainMs >= limits.exportPatienceMs) throw error
    await clock.sleep(tryAgainMs)
    signal.throwIfAborted()
  }
  const asked = { wanted, storage, after, end: sequence, signal, failed }
  return queries.matches(workspace, asked)
}

const tryAgainMs = 500

/** Prefetches: asks for the next one while the current one is used. */
async function* oneAhead<T>(source: AsyncGenerator<T, void, undefined>): AsyncGenerator<T> {
  let next = source.next()
  try {
    for (;;) {
      const { value, done } = await next
      if (done === true) return
      next = source.next()
      // It is awaited later, or never if the reader stops.
      next.catch(() => undefined)
      yield value
    }
  } finally {
    await source.return()
  }
}
