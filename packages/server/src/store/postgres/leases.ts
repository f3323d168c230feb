// Leases: a row for each workspace and task says which process follows it, and until when by the
// database's clock. A process extends the leases that it uses and gives others back, so only the
// leases of a dead process run out.

import { randomUUID } from "node:crypto"
import type { Clock } from "../../clock.ts"
import { repeatedly } from "../../runtime/repeatedly.ts"
import { OvertakenError } from "../../error.ts"
import type { Leases } from "../store.ts"
import { nowMs, type Database, type Queries } from "./connection.ts"

export type Task = "watch" | "file"

export interface OwnLeases extends Leases {
  /**
   * Called in a transaction. Throws unless this process has the lease, and locks the lease until the
   * transaction ends. If the lease was lost, followers notice only later.
   */
  requireOurs(rows: Queries["rows"], workspace: string): Promise<void>
  close(): Promise<void>
}

export const leaseMs = 6000
const renewEveryMs = 1500
/** A refused lease is requested again only after this time. */
const refusedMs = 1000
/** A lease that was not used for this time is given back. */
const idleMs = 5000

/**
 * Inserts or extends the row, or takes an expired lease over. With `$5` it takes over any lease. A
 * cluster refuses `now()` in the condition, so the condition computes the time from the new row.
 */
const takeLease = `INSERT INTO tallystick.leases AS l (workspace_id, task, holder, until_ms)
  VALUES ($1, $2, $3, ${nowMs} + $4)
  ON CONFLICT (workspace_id, task) DO UPDATE
  SET holder = excluded.holder, until_ms = excluded.until_ms
  WHERE l.holder = excluded.holder OR l.until_ms < excluded.until_ms - $4 OR $5
  RETURNING 1`
const extendLeases = `UPDATE tallystick.leases SET until_ms = ${nowMs} + $4
  WHERE workspace_id = ANY ($1::text[]) AND task = $2 AND holder = $3
  RETURNING workspace_id`
const dropLeases = `DELETE FROM tallystick.leases
  WHERE workspace_id = ANY ($1::text[]) AND task = $2 AND holder = $3`

const holderOfLease = `SELECT holder FROM tallystick.leases WHERE workspace_id = $1 AND task = $2 FOR SHARE`

/** Times are of this process's clock. */
interface Held {
  untilMs: number
  askedMs: number
}

export function createLeases(database: Database, task: Task, clock: Clock): OwnLeases {
  const holder = randomUUID()
  const held = new Map<string, Held>()
  const refused = new Map<string, number>()
  /** Workspaces for which a caller was told that another process follows them. */
  const left = new Set<string>()
  const listeners: ((workspace: string) => void)[] = []
  let giving: Promise<unknown> = Promise.resolve()

  const isHeld = (workspace: string) => (held.get(workspace)?.untilMs ?? 0) > clock.elapsed()

  const take = async (workspace: string, anyway: boolean): Promise<boolean> => {
    // Giving back uses another connection. If it is still under way, it could delete the lease
    // after it was taken again.
    await giving.catch(() => undefined)
    // Counted from before the statement, so that the lease ends here before it ends in the
    // database.
    const askedMs = clock.elapsed()
    // Otherwise it could be given back as unused while the statement runs.
    const before = held.get(workspace)
    if (before !== undefined) before.askedMs = askedMs
    const [row] = await database.rows(takeLease, [workspace, task, holder, leaseMs, anyway])
    if (row === undefined) {
      // Another call may have taken it since, and was answered first.
      if (isHeld(workspace)) return true
      left.add(workspace)
      refused.set(workspace, askedMs + refusedMs)
      return false
    }
    held.set(workspace, { untilMs: askedMs + leaseMs, askedMs })
    refused.delete(workspace)
    if (left.delete(workspace)) for (const listener of listeners) listener(workspace)
    return true
  }

  const renew = async (): Promise<void> => {
    const askedMs = clock.elapsed()
    for (const [workspace, untilMs] of refused) if (untilMs < askedMs) refused.delete(workspace)
    const [used, idle]: [string[], string[]] = [[], []]
    for (const [workspace, lease] of held)
      (lease.askedMs + idleMs < askedMs ? idle : used).push(workspace)
    for (const workspace of idle) held.delete(workspace)
    if (idle.length > 0) await (giving = database.rows(dropLeases, [idle, task, holder]))
    if (used.length === 0) return
    const kept = await database.rows(extendLeases, [used, task, holder, leaseMs])
    const still = new Set(kept.map(([workspace]) => workspace))
    for (const workspace of used) {
      const lease = held.get(workspace)
      if (lease === undefined) continue
      if (still.has(workspace)) lease.untilMs = askedMs + leaseMs
      else held.delete(workspace)
    }
  }
  // If the database is away, leases run out in both places.
  const renewing = repeatedly(clock, renewEveryMs, renew)

  return {
    async hold(workspace) {
      const askedMs = clock.elapsed()
      const lease = held.get(workspace)
      if (lease !== undefined && lease.untilMs > askedMs) {
        lease.askedMs = askedMs
        return true
      }
      if ((refused.get(workspace) ?? -Infinity) > askedMs) return false
      return take(workspace, false).catch(() => undefined)
    },
    async take(workspace) {
      await take(workspace, true)
    },
    onTaken: (listener) => void listeners.push(listener),
    async requireOurs(rows, workspace) {
      const [found] = await rows(holderOfLease, [workspace, task])
      // Without a row, another process may have had the lease, and has given it back.
      if (found?.[0] !== holder) {
        held.delete(workspace)
        throw new OvertakenError("another process has taken over")
      }
    },
    async close() {
      renewing.close()
      if (held.size > 0)
        await database.rows(dropLeases, [[...held.keys()], task, holder]).catch(() => undefined)
    },
  }
}
