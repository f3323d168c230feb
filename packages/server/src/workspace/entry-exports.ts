// Exports of entries: all matches of a query as one file, however many. Each is recorded twice:
// before its first byte, who asked for what; and at its end, how many entries were given out.

import { Readable } from "node:stream"
import type { EventsExportQuery } from "@tallystick/client/wire"
import type { JsonObject } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { CountRequest, Queries } from "../query/entry-queries.ts"
import type { EntryExporter } from "../query/entry-exporter.ts"
import { createFairQueue, type FairQueue } from "../runtime/fair-queue.ts"
import type { Document, Store } from "../store/store.ts"
import { recordEventsExport, recordEventsExportEnd } from "./export-entries.ts"
import type { Principal } from "./permissions.ts"

export interface ExportRequest
  extends Omit<CountRequest, "signal">, Pick<EventsExportQuery, "format" | "after"> {
  readonly isProven: boolean
  /** What was asked for, as the entry names it. */
  readonly filter: JsonObject
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
    workspace: Document<"workspace">,
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

/** Bytes that are made before the client takes those before them. */
const aheadBytes = 512 * 1024

export function createEntryExports(parts: ExportParts): EntryExports {
  const { store, clock, limits } = parts
  const queue = (of: string, atOnceMax: number, perWorkspaceMax: number): FairQueue =>
    createFairQueue(clock, {
      of,
      atOnceMax,
      perWorkspaceMax,
      waitingMax: limits.exportsWaitingMax,
      waitMs: limits.exportWaitMs,
    })
  const sending = queue("exports", limits.exportsAtOnceMax, limits.exportsOfWorkspaceMax)
  // Pieces: the thread always has the next one at hand, and workspaces take turns.
  const making = queue("exports", 2, 1)
  return {
    async begin(by, workspace, request, signal) {
      const end = await sending.begin(workspace.id, signal)
      try {
        const { format, after, filter } = request
        const sequence = (await store.journal.head(workspace.id))?.sequence ?? 0
        const asked = { filter, format, after, sequence }
        const receipt = await recordEventsExport(parts, by, workspace, asked)
        const started = { by, workspace, request, signal, sequence, receipt, making }
        const content = Readable.from(bytesOf(parts, started), {
          objectMode: false,
          highWaterMark: aheadBytes,
        })
        // Before the work that waits hears of it: a client that leaves is no failure.
        const leave = (): void => void content.destroy()
        signal.addEventListener("abort", leave)
        content.once("close", () => {
          signal.removeEventListener("abort", leave)
          end()
        })
        return { sequence, receipt, content }
      } catch (error) {
        end()
        throw error
      }
    },
  }
}

interface Started {
  readonly by: Principal
  readonly workspace: Document<"workspace">
  readonly request: ExportRequest
  readonly signal: AbortSignal
  readonly sequence: number
  readonly receipt: string
  readonly making: FairQueue
}

/**
 * The bytes of the file. They end early, with an error, if the client has left or something cannot
 * be read.
 */
async function* bytesOf(parts: ExportParts, started: Started): AsyncGenerator<Uint8Array> {
  const { exporter, clock, report } = parts
  const { by, workspace, request, signal, sequence, receipt, making } = started
  const { wanted, format, isProven } = request
  const nowMs = clock.now()
  const asked = { workspace, format, isProven, wanted, end: sequence, nowMs }
  const number = await exporter.begin(asked)
  let entries = 0
  let isRecorded = false
  const record = async (complete: boolean): Promise<void> => {
    isRecorded = true
    const metadata = { exportReceiptId: receipt, entries, complete }
    await recordEventsExportEnd(parts, by, workspace, metadata)
  }
  const count = (written: number): void => {
    entries += written
    report.exported(format, written)
  }
  try {
    for await (const sequences of oneAhead(matchesOf(parts, started, nowMs)))
      for (let at = 0; at < sequences.length;) {
        const rest = sequences.slice(at)
        const add = () => exporter.add(number, rest)
        const { bytes, taken, written } = await making.run(workspace.id, signal, add)
        at += taken
        count(written)
        if (bytes.length > 0) yield bytes
      }
    const { bytes, written } = await exporter.end(number)
    count(written)
    // Before the last bytes: an export that cannot be recorded lacks its end.
    await record(true)
    yield bytes
  } finally {
    await exporter.drop(number)
    // The entry of its beginning says that it was made, if this one cannot be written.
    if (!isRecorded) await record(false).catch(() => undefined)
  }
}

function matchesOf(
  { queries, clock, limits }: ExportParts,
  { workspace, request: { wanted, storage, after }, sequence, signal }: Started,
  nowMs: number,
): AsyncGenerator<readonly number[], void, undefined> {
  /** Most of an export may have been sent. It waits where a page would be refused. */
  const failed = async (error: unknown, times: number): Promise<void> => {
    const mayPass = error instanceof LedgerError && error.code === "overloaded"
    if (!mayPass || times * tryAgainMs >= limits.exportPatienceMs) throw error
    await clock.sleep(tryAgainMs)
    signal.throwIfAborted()
  }
  const asked = { wanted, storage, after, end: sequence, signal, failed }
  return queries.matches(workspace, asked, nowMs)
}

const tryAgainMs = 500

/** Asks for the next while the one before is used. */
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
