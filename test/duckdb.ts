// DuckDB, as an outside judge of what we write for analysts. npm installs it for most machines.

type Rows = readonly Readonly<Record<string, unknown>>[]

export interface DuckDb {
  rows(sql: string): Promise<Rows>
}

/** Undefined on a machine for which npm has none. */
export async function openDuckDb(): Promise<DuckDb | undefined> {
  const module = await import("@duckdb/node-api").catch(() => undefined)
  if (module === undefined) return undefined
  const connection = await (await module.DuckDBInstance.create(":memory:")).connect()
  // Columns that are not named must not be guessed by the clock of the machine.
  await connection.run("SET TimeZone = 'UTC'")
  return { rows: async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson() }
}
