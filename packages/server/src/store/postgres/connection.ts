// Connections to PostgreSQL: a pool for each thread, prepared statements, and a classification of
// errors by whether something may have been recorded.
//
// A database that cannot be reached, or does not answer a new connection either, is *away*.
// Meanwhile every query is refused at once, and one connection at a time checks whether the database
// is back. A database that only refuses further connections is not away: queries wait for the
// existing connections.

import { hash } from "node:crypto"
import { Socket } from "node:net"
import { Pool, type ClientBase, type PoolClient, type QueryArrayConfig } from "pg"
import { systemClock, type Clock } from "../../clock.ts"
import { codeOf, detailOf, LedgerError, StartError } from "../../error.ts"
import { createOneAtATime } from "../../runtime/one-at-a-time.ts"
import { singleFlight } from "../../runtime/single-flight.ts"
import { BinaryClient } from "./binary-client.ts"

/** A row is a list of stored values, in the order of the statement's columns. */
export type Row = readonly unknown[]

export interface Queries {
  /** The statement is prepared once on each connection. */
  readonly rows: (statement: string, values?: readonly unknown[]) => Promise<readonly Row[]>
}

export interface Database extends Queries {
  /** Runs `act` in one transaction, which commits or rolls back. */
  within<T>(act: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * Like `rows`, but throws the original error: if the connection fails, the outcome is unknown.
   */
  unsafe(statement: string, values: readonly unknown[]): Promise<readonly Row[]>
  close(): Promise<void>
}

export interface DatabaseConfig {
  readonly url: string
  readonly connections: number
  /** Whether it writes only derived data: then its commits do not wait for the disk. */
  readonly isDerived?: boolean
  /** Whether it belongs to a command that has the database alone. */
  readonly isAlone?: boolean | undefined
}

/**
 * Timeouts, after which a query fails: a request waits ten seconds at most for a database that
 * hangs.
 */
const connectTimeoutMs = 3000
const statementTimeoutMs = 6000
/** Longer than the server's own timeout, whose error says more. */
const answerTimeoutMs = 7000
const idleMs = 60_000
/** How often a check is made whether the database is back. */
const askAgainMs = 250
/** How long a pool makes no new connections after one was refused. */
const refusedMs = 5000
/** How often a pool without any connection tries to make one. */
const firstAgainMs = 50

const optionsOf = (settings: readonly string[]) => settings.map((one) => `-c ${one}`).join(" ")

/**
 * A plan is made once for a connection, when the tables may still be empty, so it must be one that
 * is right for large tables. JIT is off, because compiling takes longer than any of our statements,
 * and the row estimates of a generic plan are useless.
 *
 * Connections of a machine that has lost its power or its network end within half a minute. Until
 * then, commands find a running service.
 */
const usual = optionsOf([
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "jit=off",
  "standard_conforming_strings=on",
  "idle_session_timeout=0",
  "tcp_keepalives_idle=10",
  "tcp_keepalives_interval=5",
  "tcp_keepalives_count=3",
])

/** The role may have timeouts, which a command or a migration may exceed. */
export const unlimited = optionsOf([
  "statement_timeout=0",
  "lock_timeout=0",
  "idle_in_transaction_session_timeout=0",
])

/**
 * What not every server knows, so no option can set it. A Citus cluster refuses a generic plan of a
 * statement that concerns several of its nodes. PostgreSQL 17 has `transaction_timeout`.
 */
const setWhatIsKnown = `
  SELECT set_config('plan_cache_mode', 'auto', false) FROM pg_extension WHERE extname = 'citus';
  SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'`

/**
 * A commit that is acknowledged waits for the disk, even if the server's setting changes. The
 * setting is `off` only from the start of a connection, so that a pooler never gives such a session
 * to another client.
 */
const waitForDisk = `SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`
const waitForNothing = "-c synchronous_commit=off"

export function openDatabase(config: DatabaseConfig, clock: Clock = systemClock): Database {
  let pool = openPool(config)
  let away: unknown
  let closing = false
  let refusedUntilMs = -Infinity
  const answersNow = singleFlight(() => answers(config))

  const leave = (cause: unknown): void => {
    if (away !== undefined || closing) return
    away = cause
    // Older connections may hang or be dead, so none of them is used again.
    void pool.end()
    pool = openPool(config)
    void waitUntilBack()
  }
  /** One statement may hang alone, such as a commit that waits for a standby. */
  const leaveUnlessItAnswers = async (cause: unknown): Promise<void> => {
    if (!(await answersNow())) leave(cause)
  }
  const waitUntilBack = async (): Promise<void> => {
    while (away !== undefined && !closing) {
      await clock.sleep(askAgainMs)
      if (await answers(config)) away = undefined
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
        // A full pool lets queries wait until a connection is returned.
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
      if (isUnanswered(error)) void leaveUnlessItAnswers(error)
      throw error
    } finally {
      // A connection in an unknown state is not used again.
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
          const result = await act(queriesOn(client))
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

/** The time by the clock of the database. */
export const nowMs = "(extract(epoch FROM now()) * 1000)::bigint"

/** "tallysti": the key of the advisory lock of a command. Each database has its own. */
export const lockKey = "x'74616c6c79737469'::bigint"
/** False while a command has the database alone. The lock ends with its transaction. */
export const passLock = `SELECT pg_try_advisory_xact_lock_shared(${lockKey})`

/**
 * A service looks at the lock with each connection, because it may have lost all of them for so long
 * that a command found it stopped.
 */
async function requireNoCommand(client: ClientBase): Promise<void> {
  const [row] = await ask(client, passLock, [])
  if (row?.[0] !== true) throw new Error("a command of tallystick has the database alone")
}

function openPool({ url, connections, isDerived = false, isAlone }: DatabaseConfig): Pool {
  const pool = new Pool({
    Client: BinaryClient,
    ...clientOf(
      url,
      connectTimeoutMs,
      answerTimeoutMs,
      isDerived ? `${usual} ${waitForNothing}` : usual,
    ),
    max: connections,
    idleTimeoutMillis: idleMs,
    // A connection for which this fails is not used.
    async onConnect(client) {
      await client.query(isDerived ? setWhatIsKnown : `${setWhatIsKnown}; ${waitForDisk}`)
      if (isAlone !== true) await requireNoCommand(client)
    },
  })
  // A broken connection leaves the pool. A statement that is under way on it fails. The next query
  // makes a new connection.
  pool.on("error", () => {})
  pool.on("connect", (client) => {
    client.on("error", () => {})
  })
  return pool
}

function clientOf(url: string, connectMs: number, answerMs: number, options = usual) {
  return {
    ...addressOf(url, serviceName, options),
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementTimeoutMs,
    lock_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    query_timeout: answerMs,
    keepAlive: true,
  }
}

const ownParameters = [
  "application_name",
  "options",
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
  "query_timeout",
]

/**
 * The address of the database, without parameters that would replace ours: commands find a service
 * by its name, and its plans and timeouts must hold. Further `options` are kept.
 */
export function addressOf(url: string, name: string, options = "") {
  const address = new URL(url)
  const further = address.searchParams.get("options") ?? ""
  for (const parameter of ownParameters) address.searchParams.delete(parameter)
  // The driver reads these modes so, but prints a warning that its next version will not.
  const mode = address.searchParams.get("sslmode") ?? ""
  if (/^(prefer|require|verify-ca)$/.test(mode) && !address.searchParams.has("uselibpqcompat"))
    address.searchParams.set("sslmode", "verify-full")
  return {
    connectionString: address.href,
    application_name: name,
    options: `${further} ${options}`.trim(),
  }
}

/**
 * Whether a new connection can be made and used, or fails only because there are too many
 * connections.
 */
async function answers({ url, isAlone }: DatabaseConfig): Promise<boolean> {
  const client = new BinaryClient(clientOf(url, connectTimeoutMs, connectTimeoutMs))
  client.on("error", () => {})
  try {
    await client.connect()
    await (isAlone === true ? client.query("SELECT 1") : requireNoCommand(client))
    return true
  } catch (error) {
    return isOfCount(error)
  } finally {
    void client.end().catch(() => undefined)
  }
}

/**
 * Begins a transaction that changes many tables. After parallel statements in a transaction, a
 * Citus cluster refuses to change a function or a reference table in it. A server without Citus
 * ignores the setting.
 */
export const beginAcrossNodes = "BEGIN; SET LOCAL citus.multi_shard_modify_mode = 'sequential'"

export interface ToolConnection extends Queries {
  /** Runs a statement outside a transaction. */
  run(text: string): Promise<void>
  close(): Promise<void>
}

/** The name of a service's connections, by which commands find it. */
export const serviceName = "tallystick"

/**
 * The connection of a command, without timeouts. With `still`, all reads see one snapshot, taken by
 * the first statement. Its errors are sentences for the operator.
 */
export async function openTool(
  url: string,
  { still = false, name = "tallystick command", lost = () => {} } = {},
): Promise<ToolConnection> {
  const client = new BinaryClient({
    ...addressOf(url, name, `${usual} ${unlimited}`),
    connectionTimeoutMillis: connectTimeoutMs,
    // A command without an answer ends after 20 s; after 25 s, the database releases its lock.
    stream: () => new Socket().setKeepAlive(true, 10_000, 2000, 5),
  })
  // Without `lost`, the next statement reports it.
  client.on("error", () => lost())
  // The driver warns on standard error of a statement while another one runs.
  const oneAtATime = createOneAtATime()
  const said = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await oneAtATime("statement", act)
    } catch (cause) {
      throw new StartError(`the database cannot be used: ${detailOf(cause)}`, { cause })
    }
  }
  await said(() => client.connect())
  await said(() => client.query(setWhatIsKnown))
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

function queriesOn(client: ClientBase): Queries {
  return { rows: (statement, values = []) => ask(client, statement, values) }
}

const names = new Map<string, string>()

/**
 * The name of a prepared statement. It is the same in every process, because a pooler shares
 * connections.
 */
function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = hash("sha256", text, "base64url")
  names.set(text, name)
  return name
}

/** The SQLSTATE of an error, or the system's code; empty if it has none. */
export function stateOf(error: unknown): string {
  return codeOf(error instanceof LedgerError ? error.cause : error)
}

/** Whether the connection is lost or in an unknown state. Errors of the server have a SQLSTATE. */
function isOfConnection(error: unknown): boolean {
  if (error instanceof LedgerError) return false
  const code = stateOf(error)
  // The driver's own errors, such as a timeout, have none.
  if (!/^[0-9A-Z]{5}$/.test(code)) return code !== "" || isDriverError(error)
  return code.startsWith("08") || code.startsWith("57P") || code === "XX000"
}

function isDriverError(error: unknown): boolean {
  return error instanceof Error && /timeout|[Cc]onnection|not queryable/.test(error.message)
}

/** The server, the database or the role has reached its limit of connections. */
function isOfCount(error: unknown): boolean {
  return stateOf(error) === "53300"
}

/** Too many connections, in our pool or at the server. The database is not away. */
function isOfLoad(error: unknown): boolean {
  return (
    stateOf(error).startsWith("53") ||
    (error instanceof Error && error.message === "timeout exceeded when trying to connect")
  )
}

function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout"
}

/** Out of resources, stopped by an operator, or timed out: the same request may succeed later. */
function isOfServer(error: unknown): boolean {
  return /^(53|57|55P03|25006|40)/.test(stateOf(error))
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
