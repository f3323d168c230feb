// The database for the operator's tools: while no service runs, or as a snapshot.

import type { DerivedStore, Snapshot, StoppedStore } from "../offline.ts"
import { closing } from "../../runtime/closing.ts"
import { openLedger, openLedgerAlone, requireAlone } from "./alone.ts"
import { beginAcrossNodes } from "./connection.ts"
import { openPostgresFiling, openPostgresWatched } from "./open-postgres.ts"
import { journalReads } from "./reads.ts"
import { registryOf } from "./registry.ts"
import { rebuildDirectory, replaceDocuments, storedDocuments } from "./stored-documents.ts"

/** Tables that can be rebuilt from entries and documents. The last uses of credentials cannot. */
const derivedTables = ["trees", "tiles", "checkpoints", "audits", "segments", "parts"]

export async function openPostgresAnew(url: string): Promise<DerivedStore> {
  await using opening = new AsyncDisposableStack()
  opening.use(closing(await requireAlone(url)))
  await emptyDerived(url)
  const watched = opening.use(closing(openPostgresWatched(url, true)))
  const filing = opening.use(closing(openPostgresFiling(url, true)))
  const opened = opening.move()
  return { watched, filing, close: () => opened.disposeAsync() }
}

async function emptyDerived(url: string): Promise<void> {
  await using tool = closing(await openLedger(url))
  await tool.run(beginAcrossNodes)
  for (const table of derivedTables) await tool.run(`TRUNCATE tallystick.${table}`)
  await rebuildDirectory(tool)
  await tool.run("COMMIT")
}

export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const tool = await openLedger(url, { still: true })
  return { journal: journalReads(tool), registry: registryOf(tool), close: () => tool.close() }
}

export async function openPostgresStopped(url: string): Promise<StoppedStore> {
  const tool = await openLedgerAlone(url)
  return {
    journal: journalReads(tool),
    registry: registryOf(tool),
    isCopy: false,
    takeOffMark: () => {},
    documents: () => storedDocuments(tool),
    replaceDocuments: (documents) => replaceDocuments(tool, documents),
    // Replaced rows stay in the table's file until it is rewritten.
    rewriteDocuments: () => tool.run("VACUUM (FULL) tallystick.documents"),
    close: () => tool.close(),
  }
}
