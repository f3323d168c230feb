// Whether other programs use a ledger in PostgreSQL. There is no lock file: a running service is
// detected by its connections and by its leases.

import { systemClock } from "../../clock.ts"
import { StartError } from "../../error.ts"
import { leaseMs } from "./leases.ts"
import { newestLayout } from "./migrate.ts"
import { closing } from "../../runtime/closing.ts"
import { openTool, type Queries, type ToolConnection } from "./connection.ts"

const hasLedger = "SELECT to_regclass('tallystick.leases') IS NOT NULL"
const layout = "SELECT number FROM tallystick.layout"
const connectionsNow = `SELECT count(*) FROM pg_stat_activity
  WHERE application_name = 'tallystick' AND datname = current_database()`
const leasesNow = `SELECT count(*) FROM tallystick.leases
  WHERE until_ms > (extract(epoch FROM now()) * 1000)::bigint`

const lookEveryMs = 100
/** The server notices a closed connection only after a short time. */
const closedWithinMs = 2000

/** Throws if a service uses the database. The leases of a killed service run out within seconds. */
export async function requireAlone(url: string): Promise<void> {
  await using tool = closing(await openTool(url))
  const beganMs = systemClock.elapsed()
  for (;;) {
    const { connections, leases } = await usesNow(tool)
    if (connections + leases === 0) return
    const waitedMs = systemClock.elapsed() - beganMs
    if (waitedMs > (connections > 0 ? closedWithinMs : leaseMs + closedWithinMs))
      throw new StartError(
        `another tallystick is using the database (${connections} connections, ${leases} leases); stop every service that uses it first`,
      )
    await systemClock.sleep(lookEveryMs)
  }
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

/** A connection to a ledger. Throws if the database has none, or one of another layout. */
export async function openLedger(...asked: Parameters<typeof openTool>): Promise<ToolConnection> {
  const tool = await openTool(...asked)
  try {
    await requireLedger(tool)
    return tool
  } catch (error) {
    await tool.close()
    throw error
  }
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
