// Connections to PostgreSQL: a pool of them for each thread, statements that are prepared once, and
// what an error says about whether something was recorded.

import { Pool, types, type PoolClient, type QueryArrayConfig } from "pg"
import { LedgerError } from "../../error.ts"

/** Values as they are stored: a row is a list, in the order in which its statement selects. */
export type Row = readonly unknown[]

/** Prepared once on each connection, under its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

export interface Queries {
  readonly rows: (statement: Statement, values?: readonly unknown[]) => Promise<readonly Row[]>
}

export interface Database extends Queries {
  /** One transaction, or none. */
  within<T>(act: (queries: Queries) => Promise<T>): Promise<T>
  /** On a connection that this process has already made: if it fails, the outcome is unknown. */
  unsafe(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]>
  close(): Promise<void>
}

export interface DatabaseConfig {
  readonly url: string
  readonly connections: number
}

/** Waits that end with an error, so that a lost network or a stuck lock stalls nobody for ever. */
const connectTimeoutMs = 5000
const statementTimeoutMs = 20_000
/** Longer than the server's own, which says more. */
const answerTimeoutMs = 25_000
const idleMs = 60_000

/**
 * A plan is made once for a connection, when the tables may still be empty: it must be the one that
 * is right when they are large.
 */
const planning = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
]
  .map((setting) => `-c ${setting}`)
  .join(" ")

const int8 = 20

/** Sequences, sizes and times are far below 2^53. */
function parserOf(type: number, format?: "text" | "binary"): (text: string) => unknown {
  // The library's own parsers give what the type is.
  return type === int8 ? Number : (types.getTypeParser(type, format) as (text: string) => unknown)
}

export function openDatabase({ url, connections }: DatabaseConfig): Database {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    application_name: "tallystick",
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleMs,
    statement_timeout: statementTimeoutMs,
    lock_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    options: planning,
    keepAlive: true,
    types: { getTypeParser: parserOf },
  })
  // A connection that breaks while nobody uses it leaves the pool. Who needs one makes another.
  pool.on("error", () => {})

  const connected = async (): Promise<PoolClient> => {
    try {
      return await pool.connect()
    } catch (cause) {
      throw unavailable(cause)
    }
  }
  const using = async <T>(act: (client: PoolClient) => Promise<T>): Promise<T> => {
    const client = await connected()
    let failed: Error | boolean = false
    try {
      return await act(client)
    } catch (error) {
      failed = isOfConnection(error)
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
          await client.query("ROLLBACK").catch(() => undefined)
          throw error
        }
      }),
    close: () => pool.end(),
  }
}

async function ask(
  client: PoolClient,
  { name, text }: Statement,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const query: QueryArrayConfig = { name, text, values: [...values], rowMode: "array" }
  return (await client.query(query)).rows
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
