// Connections to PostgreSQL: a pool of them for each thread, statements that are prepared once, and
// what an error says about whether something was recorded.
//
// A database that cannot be reached, or does not answer, is away. While it is, every question is
// refused at once, and one connection after another asks whether it is back. A database that gives no
// more connections is there: questions wait for those that there are.

import { hash } from "node:crypto"
import { Pool, type ClientBase, type PoolClient, type QueryArrayConfig } from "pg"
import { systemClock, type Clock } from "../../clock.ts"
import { LedgerError, StartError } from "../../error.ts"
import { BinaryClient } from "./binary-client.ts"

/** Values as they are stored: a row is a list, in the order in which its statement selects. */
export type Row = readonly unknown[]

export interface Queries {
  /** The statement is prepared once on each connection. */
  readonly rows: (statement: string, values?: readonly unknown[]) => Promise<readonly Row[]>
}

export interface Database extends Queries {
  /** One transaction, or none. */
  within<T>(act: (queries: Queries) => Promise<T>): Promise<T>
  /** On a connection that this process has already made: if it fails, the outcome is unknown. */
  unsafe(statement: string, values: readonly unknown[]): Promise<readonly Row[]>
  close(): Promise<void>
}

export interface DatabaseConfig {
  readonly url: string
  readonly connections: number
  /** It writes what can be made again: its commits do not wait for the disk. */
  readonly isDerived?: boolean
}

/** Waits that end with an error: a request waits ten seconds at most for a database that hangs. */
const connectTimeoutMs = 3000
const statementTimeoutMs = 6000
/** Longer than the server's own, which says more. */
const answerTimeoutMs = 7000
const idleMs = 60_000
/** How often a database that is away is asked whether it is back. */
const askAgainMs = 250
/** How long a pool that was refused a connection asks for no other. */
const refusedMs = 5000
/** A pool that has no connection asks for its first one so often. */
const firstAgainMs = 50

/**
 * A plan is made once for a connection, when the tables may still be empty: it must be the one that
 * is right when they are large. Nothing is compiled for a plan, which would take longer than any of
 * our statements: how many rows a generic plan expects says nothing.
 */
const planning = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "jit=off",
]
  .map((setting) => `-c ${setting}`)
  .join(" ")

/** A Citus cluster refuses a generic plan of a statement that concerns several of its nodes. */
const planForCluster =
  "SELECT set_config('plan_cache_mode', 'auto', false) FROM pg_extension WHERE extname = 'citus'"

/**
 * A commit that acknowledges waits for the disk, whatever becomes of the server's setting. It is set
 * to `off` only where a connection begins, so that a pooler never gives such a session to another.
 */
const waitForDisk = `SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`
const waitForNothing = "-c synchronous_commit=off"

export function openDatabase(config: DatabaseConfig, clock: Clock = systemClock): Database {
  let pool = openPool(config)
  let away: unknown
  let closing = false
  let refusedUntilMs = -Infinity

  const leave = (cause: unknown): void => {
    if (away !== undefined || closing) return
    away = cause
    // Connections from before may hang, or be dead without knowing it: none is used again.
    void pool.end()
    pool = openPool(config)
    void waitUntilBack()
  }
  const waitUntilBack = async (): Promise<void> => {
    while (away !== undefined && !closing) {
      await clock.sleep(askAgainMs)
      if (await answers(config.url)) away = undefined
    }
  }
  const connected = async (): Promise<PoolClient> => {
    const lateMs = clock.elapsed() + connectTimeoutMs
    for (;;) {
      if (away !== undefined) throw unavailable(away)
      if (clock.elapsed() >= refusedUntilMs) pool.options.max = config.connections
      try {
        return await pool.connect()
      } catch (cause) {
        if (!isOfLoad(cause)) leave(cause)
        if (!isOfCount(cause) || clock.elapsed() >= lateMs) throw unavailable(cause)
        refusedUntilMs = clock.elapsed() + refusedMs
        // A pool that is full has questions wait for a connection that another one gives back.
        pool.options.max = Math.max(1, pool.totalCount)
        if (pool.totalCount === 0) await clock.sleep(firstAgainMs)
      }
    }
  }
  const using = async <T>(act: (client: PoolClient) => Promise<T>): Promise<T> => {
    const client = await connected()
    let failed: Error | boolean = false
    try {
      return await act(client)
    } catch (error) {
      failed = isOfConnection(error)
      if (isUnanswered(error)) leave(error)
      throw error
    } finally {
      // A connection of which nobody knows what it does now is not used again.
      client.release(failed)
    }
  }
  const reading = async <T>(act: (client: PoolClient) => Promise<T>): Promise<T> => {
    try {
      return await using(act)
    } catch (error) {
      throw isOfConnection(error) || isOfServer(error) ? unavailable(error) : error
    }
  }

  return {
    rows: (statement, values = []) => reading((client) => ask(client, statement, values)),
    unsafe: (statement, values) => using((client) => ask(client, statement, values)),
    within: (act) =>
      reading(async (client) => {
        await client.query("BEGIN")
        try {
          const result = await act({
            rows: (statement, values = []) => ask(client, statement, values),
          })
          await client.query("COMMIT")
          return result
        } catch (error) {
          if (!isOfConnection(error)) await client.query("ROLLBACK")
          throw error
        }
      }),
    close() {
      closing = true
      return pool.end()
    },
  }
}

function openPool({ url, connections, isDerived = false }: DatabaseConfig): Pool {
  const pool = new Pool({
    Client: BinaryClient,
    ...clientOf(url, connectTimeoutMs, answerTimeoutMs),
    options: isDerived ? `${planning} ${waitForNothing}` : planning,
    max: connections,
    idleTimeoutMillis: idleMs,
  })
  // A connection that breaks leaves the pool, whether a statement is under way, which then fails, or
  // not. Who needs one makes another.
  pool.on("error", () => {})
  pool.on("connect", (client) => {
    client.on("error", () => {})
    // Waits in the connection's queue before whatever is asked first. The next statement says that
    // the connection is lost.
    const first = isDerived ? planForCluster : `${planForCluster}; ${waitForDisk}`
    void client.query(first).catch(() => undefined)
  })
  return pool
}

function clientOf(url: string, connectMs: number, answerMs: number) {
  return {
    connectionString: url,
    application_name: "tallystick",
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementTimeoutMs,
    lock_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    query_timeout: answerMs,
    options: planning,
    keepAlive: true,
  }
}

/** Whether a new connection can be made, and answers; or would be, if there were fewer. */
async function answers(url: string): Promise<boolean> {
  const client = new BinaryClient(clientOf(url, connectTimeoutMs, connectTimeoutMs))
  client.on("error", () => {})
  try {
    await client.connect()
    await client.query("SELECT 1")
    return true
  } catch (error) {
    return isOfCount(error)
  } finally {
    void client.end().catch(() => undefined)
  }
}

/**
 * Begins a transaction that changes many tables. A cluster whose nodes have worked at once refuses
 * to change a function, or a table that every node has, in the same transaction; a server that is
 * no cluster does not know the setting, and ignores it.
 */
export const beginAcrossNodes = "BEGIN; SET LOCAL citus.multi_shard_modify_mode = 'sequential'"

export interface ToolConnection extends Queries {
  /** A statement that can be in no transaction. */
  run(text: string): Promise<void>
  close(): Promise<void>
}

/**
 * One connection of a command, without limits of time. With `still`, it reads the state of its
 * first statement, whatever others write meanwhile. Its errors are sentences for the operator.
 */
export async function openTool(url: string, { still = false } = {}): Promise<ToolConnection> {
  const client = new BinaryClient({
    connectionString: url,
    application_name: "tallystick command",
    connectionTimeoutMillis: connectTimeoutMs,
    options: planning,
    keepAlive: true,
  })
  // The next statement says that the connection is lost.
  client.on("error", () => {})
  const said = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act()
    } catch (cause) {
      throw new StartError(
        `the database cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
        { cause },
      )
    }
  }
  await said(() => client.connect())
  await said(() => client.query(planForCluster))
  if (still)
    await said(() => client.query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
  return {
    rows: (statement, values = []) => said(() => ask(client, statement, values)),
    run: (text) => said(async () => void (await client.query(text))),
    close: () => client.end(),
  }
}

async function ask(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const name = nameOf(text)
  const query: QueryArrayConfig = { name, text, values: [...values], rowMode: "array" }
  return (await client.query(query)).rows
}

const names = new Map<string, string>()

/** The name of a prepared statement, the same in every process: a pooler shares connections. */
function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = hash("sha256", text, "base64url")
  names.set(text, name)
  return name
}

/** The SQLSTATE of an error, or the system's code; empty if it has none. */
export function codeOf(error: unknown): string {
  const { cause } = error instanceof LedgerError ? error : { cause: error }
  return cause instanceof Error && "code" in cause ? String(cause.code) : ""
}

/** Whether the connection is lost, or nobody knows what it does now. An own error has a code. */
function isOfConnection(error: unknown): boolean {
  if (error instanceof LedgerError) return false
  const code = codeOf(error)
  // The driver's own errors, such as of an answer that did not come in time, have none.
  if (!/^[0-9A-Z]{5}$/.test(code))
    return error instanceof Error && "code" in error ? true : isDriverError(error)
  return code.startsWith("08") || code.startsWith("57P") || code === "XX000"
}

function isDriverError(error: unknown): boolean {
  return error instanceof Error && /timeout|[Cc]onnection|not queryable/.test(error.message)
}

/** The server, the database or the role has as many connections as it may. */
function isOfCount(error: unknown): boolean {
  return codeOf(error) === "53300"
}

/** Too many connections, ours or the server's: the database is there. */
function isOfLoad(error: unknown): boolean {
  return (
    codeOf(error).startsWith("53") ||
    (error instanceof Error && error.message === "timeout exceeded when trying to connect")
  )
}

function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout"
}

/** Resources, operators and time-outs: the same request may succeed later. */
function isOfServer(error: unknown): boolean {
  return /^(53|57|55P03|25006|40)/.test(codeOf(error))
}

function unavailable(cause: unknown): LedgerError {
  if (cause instanceof LedgerError) return cause
  return new LedgerError(
    "ledger_unavailable",
    "the database cannot be reached at this moment; repeat the request",
    { cause },
  )
}

export function bytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new Error("a column that holds bytes holds something else")
  return value
}

export function optionalBytes(value: unknown): Uint8Array | undefined {
  return value === null || value === undefined ? undefined : bytes(value)
}
