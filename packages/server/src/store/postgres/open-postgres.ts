// Opens the PostgreSQL driver: for the program that serves, with a pool of connections and threads
// for searches and lists; and for the programs that watch and file, with connections of their own.

import { pause, systemClock, type Clock } from "../../clock.ts"
import type { Config } from "../../config.ts"
import { LedgerError } from "../../error.ts"
import { singleFlight } from "../../runtime/single-flight.ts"
import { startThread, startWhenAsked } from "../../runtime/worker-thread.ts"
import { openArchivedBodies, withArchived } from "../archive/archived-bodies.ts"
import { cacheRegistry } from "../cached-documents.ts"
import { createGrowth } from "../growth.ts"
import { readHeld } from "../held-entries.ts"
import { findWith } from "../search/finder-thread.ts"
import type { Heads } from "../heads.ts"
import type { FilingStore, ReadStore, Registry, Store, WatchedStore } from "../store.ts"
import { leavesFrom } from "../leaf-reader.ts"
import { openDatabase, type DatabaseConfig } from "./connection.ts"
import { createContentKeeper } from "./content.ts"
import { begunWith, sizeOf, stateOf } from "./database-state.ts"
import { pollGrowth } from "./growth-poll.ts"
import { sharedHeads } from "./heads.ts"
import { createIndex } from "./index.ts"
import { createJournal } from "./journal.ts"
import { createLeases } from "./leases.ts"
import { migrate } from "./migrate.ts"
import { createSegments, findablePosition } from "./postgres-segments.ts"
import { readerModule, type ReaderOptions, type ReaderQuestions } from "./reader.ts"
import { findingsOf, indexReads, journalReads } from "./reads.ts"
import { registryOf } from "./registry.ts"

export interface PostgresConfig
  extends Pick<Config, "limits" | "archive">, Pick<DatabaseConfig, "isAlone"> {
  readonly databaseUrl: string
}

/** Within this time a process notices changes by other processes, such as a revoked key. */
const staleMsMax = 3000
/** Connections of each thread but the serving one. */
const threadConnections = 3

/** Calls `onDeath` when a thread has died. */
export async function openPostgres(
  { databaseUrl: url, limits, archive, isAlone }: PostgresConfig,
  onDeath: (cause: Error) => void,
): Promise<Store> {
  const { isCluster } = await migrate(url)
  const options: ReaderOptions = {
    database: { url, connections: threadConnections, isAlone },
    limits,
    archive,
  }
  const start = () => startThread<ReaderQuestions>(readerModule, options, { onDeath })
  const [lists, searches] = [startWhenAsked(start), startWhenAsked(start)]
  const database = openDatabase({ url, connections: limits.databaseConnectionsMax, isAlone })
  const registry = cacheRegistry({ ...registryOf(database), staleMsMax }, systemClock)
  const growth = createGrowth((end) => patient(registry, systemClock, end))
  const poll = pollGrowth(database, registry, systemClock, (workspace) => growth.report(workspace))
  const bodies = openArchivedBodies(archive, registry, systemClock)
  const stored = createJournal({
    database,
    isCluster,
    limits,
    clock: systemClock,
    seen({ workspace, changes = [] }) {
      registry.forget(workspace, changes)
      growth.report(workspace)
    },
  })
  const journal: Store["journal"] = {
    ...withArchived(stored, bodies),
    async byReceipt(workspace, receipt) {
      const entry = await stored.byReceipt(workspace, receipt)
      return (await bodies.filled(workspace, [entry]))[0]
    },
  }
  const index = indexReads(database)
  const { leaves, fewLeaves } = leavesFrom(lists)
  return {
    journal,
    registry,
    grown: growth.grown,
    index,
    leaves,
    held: (...asked) => readHeld({ journal, index, fewLeaves }, ...asked),
    search: {
      position: (workspace) => findablePosition(database, workspace),
      ...findWith(lists, searches),
    },
    readOnly: undefined,
    // Anyone may ask, as often as they like.
    ready: singleFlight(() => stateOf(database, isCluster, systemClock)),
    findings: () => findingsOf(database),
    begun: (commitment) => begunWith(database, commitment),
    databaseBytes: () => sizeOf(database),
    async close() {
      poll.close()
      for (const one of [searches, lists]) await one.close()
      bodies.close()
      await database.close()
    },
  }
}

const askAgainMs = 250

/** If the database is away when a listener begins, the listener waits until it is back, or ends. */
function patient(registry: Registry, clock: Clock, end: AbortSignal): Pick<Registry, "list"> {
  return {
    async list(...asked) {
      for (;;) {
        try {
          return await registry.list(...asked)
        } catch (error) {
          if (!(error instanceof LedgerError && error.code === "ledger_unavailable")) throw error
          if (end.aborted) return []
          await pause(clock, askAgainMs, end)
        }
      }
    },
  }
}

/** For the program that watches, after the serving program has opened the database. */
export function openPostgresWatched(url: string, isAlone?: boolean): WatchedStore {
  const database = openDatabase({ url, connections: threadConnections, isDerived: true, isAlone })
  const leases = createLeases(database, "watch", systemClock)
  return {
    journal: journalReads(database),
    leases,
    registry: registryOf(database),
    index: createIndex(database),
    async close() {
      await leases.close()
      await database.close()
    },
  }
}

/** For the program that files, after the serving program has opened the database. */
export function openPostgresFiling(url: string, isAlone?: boolean): FilingStore {
  const database = openDatabase({ url, connections: threadConnections, isDerived: true, isAlone })
  const leases = createLeases(database, "file", systemClock)
  const journal = journalReads(database)
  return {
    journal,
    leases,
    registry: registryOf(database),
    index: indexReads(database),
    segments: createSegments(database, journal, leases),
    content: createContentKeeper(database),
    async close() {
      await leases.close()
      await database.close()
    },
  }
}

/** For the program that exports, after the serving program has opened the database. */
export function openPostgresReading(url: string): ReadStore {
  const database = openDatabase({ url, connections: threadConnections })
  return {
    journal: journalReads(database),
    registry: registryOf(database),
    index: indexReads(database),
    close: () => database.close(),
  }
}

/** The heads in the database, in addition to this server's own file. */
export function openPostgresHeads(url: string, file: Heads, isAlone?: boolean): Heads {
  const database = openDatabase({ url, connections: 1, isAlone })
  const heads = sharedHeads(database, file, systemClock)
  return {
    ...heads,
    close() {
      heads.close()
      void database.close()
    },
  }
}
