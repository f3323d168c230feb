// Polls the database for workspaces that have grown by writes of any process, and for workspaces
// whose follower process has died.

import type { Clock } from "../../clock.ts"
import { repeatedly } from "../../runtime/repeatedly.ts"
import { every } from "../all-documents.ts"
import type { Registry } from "../store.ts"
import { nowMs, type Database } from "./connection.ts"

const pollEveryMs = 250
const deadEveryMs = 1000
/**
 * An append records the time at which it began, but becomes visible when it has ended. No statement
 * may take longer than this.
 */
const appendMsMax = 30_000

/**
 * After a failover, the clock of the database may be behind what was read before. The bound is a
 * subquery, so it is computed once: for each row, it takes four times as long as reading the row.
 */
const movedSince = `SELECT workspace_id, sequence, moved_ms, ${nowMs} FROM tallystick.heads
  WHERE moved_ms > (SELECT least($1::bigint, ${nowMs}) - ${appendMsMax})`
const deadLeases = `SELECT DISTINCT workspace_id FROM tallystick.leases
  WHERE until_ms < (SELECT ${nowMs})`

export function pollGrowth(
  database: Database,
  registry: Pick<Registry, "list">,
  clock: Clock,
  report: (workspace: string) => void,
): { close(): void } {
  const seen = new Map<string, { readonly sequence: unknown; readonly movedMs: number }>()
  let lastMs = 0
  let deadAtMs = -Infinity
  let isAway = false

  const poll = async (): Promise<void> => {
    if (isAway) for await (const { id } of every(registry, "workspace", undefined)) report(id)
    isAway = false
    for (const [workspace, sequence, moved, now] of await database.rows(movedSince, [lastMs])) {
      const [id, movedMs] = [String(workspace), Number(moved)]
      if (seen.get(id)?.sequence !== sequence) report(id)
      seen.set(id, { sequence, movedMs })
      lastMs = Math.min(Math.max(lastMs, movedMs), Number(now))
    }
    for (const [id, { movedMs }] of seen) if (movedMs < lastMs - appendMsMax) seen.delete(id)
    if (clock.elapsed() < deadAtMs + deadEveryMs) return
    deadAtMs = clock.elapsed()
    for (const [workspace] of await database.rows(deadLeases)) report(String(workspace))
  }
  return repeatedly(clock, pollEveryMs, () =>
    poll().catch(() => {
      isAway = true
    }),
  )
}
