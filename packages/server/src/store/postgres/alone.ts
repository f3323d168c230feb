// Whether other programs use a ledger in PostgreSQL. A running service is detected by its
// connections and by its leases. A command that needs the database alone has an advisory lock.

import { systemClock } from "../../clock.ts"
import { StartError } from "../../error.ts"
import { leaseMs } from "./leases.ts"
import { migrate, newestLayout } from "./migrate.ts"
import { closing } from "../../runtime/closing.ts"
import {
  lockKey,
  nowMs,
  openTool,
  passLock,
  serviceName,
  type Queries,
  type ToolConnection,
} from "./connection.ts"

const hasLedger = "SELECT to_regclass('tallystick.leases') IS NOT NULL"
const layout = "SELECT number FROM tallystick.layout"
const connectionsNow = `SELECT count(*) FROM pg_stat_activity
  WHERE application_name = '${serviceName}' AND datname = current_database()`
const leasesNow = `SELECT count(*) FROM tallystick.leases
  WHERE until_ms > ${nowMs}`

const lookEveryMs = 100
/** The server notices a closed connection only after a short time. */
const closedWithinMs = 2000

const lock = `SELECT pg_try_advisory_xact_lock(${lockKey})`
/** "tallybgn": waits for another program that begins a ledger. */
const lockToBegin = "SELECT pg_advisory_xact_lock(x'74616c6c7962676e'::bigint)"
/**
 * The lock ends with its transaction, because a pooler keeps sessions. The role may have timeouts;
 * before PostgreSQL 17, there is only the first.
 */
const beginLock = `BEGIN; SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')`

/** Until it is closed, the database has no other user. */
export interface Alone {
  close(): Promise<void>
}

/**
 * Throws if a service or another command uses the database. The leases of a killed service run out
 * within seconds.
 *
 * A command locks, and then looks for connections; a service connects, and then looks at the lock,
 * with each connection. So of two that begin at once, at least one sees the other.
 */
export async function requireAlone(url: string): Promise<Alone> {
  await using opening = new AsyncDisposableStack()
  const tool = opening.use(closing(await openTool(url, { lost: lostLock })))
  const beganMs = systemClock.elapsed()
  for (;;) {
    const uses = await usesNow(tool)
    // Without the lock at first, which a service that runs would meet.
    const found = uses.connections + uses.leases === 0 ? await locked(tool) : uses
    if (found === undefined) {
      opening.move()
      return tool
    }
    const { connections, leases } = found
    const waitedMs = systemClock.elapsed() - beganMs
    if (waitedMs > (connections > 0 ? closedWithinMs : leaseMs + closedWithinMs))
      throw new StartError(
        connections + leases === 0
          ? "another command of tallystick has the database alone; run this when it has ended"
          : `another tallystick is using the database (${connections} connections, ${leases} leases); stop every service that uses it first`,
      )
    await systemClock.sleep(lookEveryMs)
  }
}

/** A service may start now, so the process must end at once: every command may be cut short. */
function lostLock(): never {
  throw new StartError(
    "the connection to the database that keeps services away was lost, so the command has ended: run this again",
  )
}

/** Undefined with the lock. Otherwise the uses that were found. */
async function locked(tool: ToolConnection) {
  await tool.run(beginLock)
  const [row] = await tool.rows(lock)
  const uses = await usesNow(tool)
  if (row?.[0] === true && uses.connections + uses.leases === 0) return undefined
  await tool.run("ROLLBACK")
  return uses
}

/**
 * For a service that starts: throws if a command has the database alone. Until the result is
 * closed, no command gets it.
 */
export async function requireNoCommand(url: string): Promise<Alone> {
  const tool = await openTool(url, { name: serviceName })
  const [row] = await tool.rows(passLock)
  if (row?.[0] === true) return tool
  await tool.close()
  throw new StartError(
    "a command of tallystick has the database alone; start the service when it has ended",
  )
}

export async function isPostgresInUse(url: string): Promise<boolean> {
  await using tool = closing(await openTool(url))
  const { connections, leases } = await usesNow(tool)
  return connections + leases > 0
}

async function usesNow({ rows }: Queries) {
  const [found] = await rows(hasLedger)
  const [connections] = await rows(connectionsNow)
  const [leases] = found?.[0] === true ? await rows(leasesNow) : []
  return { connections: Number(connections?.[0] ?? 0), leases: Number(leases?.[0] ?? 0) }
}

/** See `beginInDatabase`. */
export async function beginPostgresLedger(url: string, act: () => void): Promise<boolean> {
  await using tool = closing(await openTool(url))
  await tool.run(beginLock)
  await tool.run(lockToBegin)
  const [found] = await tool.rows(hasLedger)
  if (found?.[0] === true) return false
  act()
  await migrate(url)
  return true
}

/** A connection to a ledger. Throws if the database has none, or one of another layout. */
export async function openLedger(...asked: Parameters<typeof openTool>): Promise<ToolConnection> {
  await using opening = new AsyncDisposableStack()
  const tool = opening.use(closing(await openTool(...asked)))
  await requireLedger(tool)
  opening.move()
  return tool
}

/** The same, and until it is closed, the database has no other user. */
export async function openLedgerAlone(
  ...asked: Parameters<typeof openTool>
): Promise<ToolConnection> {
  await using opening = new AsyncDisposableStack()
  opening.use(closing(await requireAlone(asked[0])))
  const tool = opening.use(closing(await openLedger(...asked)))
  const opened = opening.move()
  return { ...tool, close: () => opened.disposeAsync() }
}

async function requireLedger({ rows }: Queries): Promise<void> {
  const [found] = await rows(hasLedger)
  if (found?.[0] !== true)
    throw new StartError(
      "there is no ledger in the database: TALLYSTICK_DATABASE_URL must name the ledger's",
    )
  const [row] = await rows(layout)
  const number = Number(row?.[0])
  if (number !== newestLayout())
    throw new StartError(
      `the database has layout ${number}, and this version of tallystick reads ${newestLayout()}: start the service of the newer version once, which upgrades it`,
    )
}
