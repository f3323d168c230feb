// The state of the database: whether it accepts writes, and how durable a commit is.

import type { Clock } from "../../clock.ts"
import { LedgerError } from "../../error.ts"
import type { DatabaseState } from "../store.ts"
import type { Database } from "./connection.ts"

/** The tables of a ledger that the role may not use; null if there are none. */
export const closedTables = `
  SELECT string_agg(c.relname, ', ' ORDER BY c.relname) AS tables
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'tallystick' AND c.relkind IN ('r', 'p')
    AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
             AND has_table_privilege(c.oid, 'INSERT'))`

const stateNow = `
  SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
         current_setting('synchronous_commit'), current_setting('server_version'),
         current_setting('synchronous_standby_names'),
         CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN
           (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))
         END, (${closedTables})`
const deadNodes = `SELECT nodename || ':' || nodeport FROM run_command_on_workers('SELECT 1')
  WHERE NOT success ORDER BY 1`
/** A node that hangs must not make the answer about the others fail. */
const nodesWithinMs = 1000

/** The update of nothing lets the statement return a row that was there. */
const begin = `INSERT INTO tallystick.begun AS b (id, commitment) VALUES (1, $1)
  ON CONFLICT (id) DO UPDATE SET commitment = b.commitment RETURNING commitment`

const databaseSize = "SELECT pg_database_size(current_database())"

/** Rejects if an append would fail, or if a changed setting makes commits less than durable. */
export async function stateOf(
  database: Database,
  isCluster: boolean,
  clock: Clock,
): Promise<DatabaseState> {
  const [[row = []], dead] = await Promise.all([
    database.rows(stateNow),
    isCluster ? deadNodesOf(database, clock) : [],
  ])
  const [isReadOnly, commit, version, names, standbys, closed] = row
  if (isReadOnly !== false)
    throw new LedgerError("ledger_unavailable", "the database is read-only, as a standby is")
  if (typeof closed === "string")
    throw new LedgerError("ledger_unavailable", closedSentence(closed))
  if (commit !== "on" && commit !== "remote_apply")
    throw new LedgerError(
      "ledger_unavailable",
      `the database has synchronous_commit = ${String(commit)} by now, with which acknowledged entries could be lost; set it to on`,
    )
  const synchronousStandbys = names === "" ? 0 : (standbys ?? undefined)
  return {
    // The statement returns a count.
    synchronousStandbys: synchronousStandbys as number | undefined,
    unreachableNodes: dead?.length,
    detail: `PostgreSQL ${String(version)}; ${sentenceOf(synchronousStandbys)}${sentenceOfNodes(dead)}`,
  }
}

export function closedSentence(tables: string): string {
  return `the role of the database lacks rights to ${tables} in the schema tallystick: make it the owner of the schema and its tables`
}

/** Undefined if it is unknown, because a node does not answer in time. */
async function deadNodesOf(
  database: Database,
  clock: Clock,
): Promise<readonly string[] | undefined> {
  const asked = database.rows(deadNodes).then(
    (rows) => rows.map(([node]) => String(node)),
    () => undefined,
  )
  return await Promise.race([asked, clock.sleep(nodesWithinMs).then(() => undefined)])
}

function sentenceOfNodes(dead: readonly string[] | undefined): string {
  if (dead === undefined) return "; the nodes of the cluster have not all answered"
  return dead.length === 0 ? "" : `; nodes that cannot be reached: ${dead.join(", ")}`
}

function sentenceOf(synchronousStandbys: unknown): string {
  switch (synchronousStandbys) {
    case undefined:
      return "only a role with pg_read_all_stats can see its synchronous standbys"
    case 0:
      return "no synchronous standby: an entry is on the disk of one server when it is acknowledged"
    default:
      return `synchronous standbys: ${String(synchronousStandbys)}`
  }
}

export async function begunWith(database: Database, commitment: string): Promise<string> {
  const [row] = await database.rows(begin, [commitment])
  return String(row?.[0])
}

export async function sizeOf(database: Database): Promise<number> {
  const [row] = await database.rows(databaseSize)
  return Number(row?.[0])
}
