import assert from "node:assert/strict"
import { globSync } from "node:fs"
import { join } from "node:path"
import type { Receipt } from "@tallystick/client"
import { metric } from "../metrics.ts"
import { eventually, makeWorkspace, writeMany, type Service, type Workspace } from "../service.ts"
import { startProgram } from "./programs.ts"

// A small ledger with entries in segments of the archive and in rows.

/** This many become a segment of the search, and are packed. */
export const filed = 4096
export const idleArchiver = { TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "3600000" }
/** Many small segments, as fast as they can be made. */
export const busyArchiver = {
  TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "50",
  TALLYSTICK_LIMIT_ARCHIVE_PARTIAL_MS: "1",
  TALLYSTICK_LIMIT_ARCHIVE_ENTRIES_MAX: "64",
}

export interface OldLedger {
  /** Stopped. Disposing of it removes its folder. */
  readonly first: Service
  readonly workspace: Workspace
  readonly receipts: readonly Receipt[]
}

export function segmentFiles(data: string): readonly string[] {
  return globSync("*/*.zst", { cwd: join(data, "archive") })
}

/** All of its entries are due for the archive; none is packed, as a rule. */
export async function openDueLedger(
  entries: number,
  changes: (place: number) => object = () => ({}),
): Promise<OldLedger> {
  const ledger = await writeLedger(entries, idleArchiver, changes)
  assert.equal(await ledger.first.end("SIGKILL"), null)
  return ledger
}

/** The first 4,096 of its entries are packed. */
export async function openPackedLedger(): Promise<OldLedger> {
  const ledger = await writeLedger(filed + 50, idleArchiver)
  const packed = () => metric(ledger.first, "tallystick_packed_entries_total")
  await endOnce(ledger, "packed entries", packed, filed)
  return ledger
}

/** The first 4,096 of its entries are in 64 segments of the archive. */
export async function openArchivedLedger(
  entries: number,
  changes: (place: number) => object,
): Promise<OldLedger> {
  const ledger = await writeLedger(entries, busyArchiver, changes)
  // The metric counts them once the last one is recorded, and the files show that it goes on.
  const archived = async () => {
    const files = segmentFiles(ledger.first.data).length
    const recorded = await metric(ledger.first, "tallystick_archive_segments")
    return recorded === filed / 64 ? recorded : Math.min(files, filed / 64 - 1)
  }
  await endOnce(ledger, "archived segments", archived, filed / 64)
  return ledger
}

/** Ends the service once the number is as large. It may take its time as long as it grows. */
async function endOnce(
  { first }: OldLedger,
  what: string,
  count: () => Promise<number>,
  wanted: number,
): Promise<void> {
  // What fails here must not leave a service behind: the test would wait for it.
  await using started = new AsyncDisposableStack()
  started.use(first)
  let reached = -1
  while (reached < wanted)
    reached = await eventually(
      `${what} to grow from ${reached} to ${wanted}`,
      async () => {
        const now = await count()
        return now > reached ? now : undefined
      },
      120_000,
    )
  assert.equal(reached, wanted)
  assert.equal(await first.end(), 0)
  started.move()
}

async function writeLedger(
  entries: number,
  environment: Readonly<Record<string, string>>,
  changes: (place: number) => object = () => ({}),
): Promise<OldLedger> {
  const first = await startProgram({ environment })
  const workspace = await makeWorkspace(first, { hotDays: 0 })
  const receipts = await writeMany(workspace, entries, { atOnce: 1000, changes })
  return { first, workspace, receipts }
}
