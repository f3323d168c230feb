// Broken entries that the auditors of all servers have found.

import { parseAudit } from "../index-rows.ts"
import type { Finding } from "../index-state.ts"
import type { Queries } from "./connection.ts"

const auditsWithFinding = `SELECT state FROM tallystick.audits WHERE state LIKE '%"finding":{%'`

export async function findingsOf(database: Queries): Promise<readonly Finding[]> {
  const rows = await database.rows(auditsWithFinding)
  return rows.flatMap(([state]) => parseAudit(state)?.finding ?? [])
}
