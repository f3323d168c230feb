import { join } from "node:path"
import { after } from "node:test"
import { startPostgres, type PostgresServer } from "./postgres-server.ts"

// Where the services of tests keep their ledgers: in their folders, or, with TEST_ENGINE=postgres,
// in databases of a PostgreSQL that is started for each test file. Each data folder has its own
// database, which a restarted service finds again.

const isPostgres = process.env["TEST_ENGINE"] === "postgres"
const databases = new Map<string, Promise<string>>()
let server: Promise<PostgresServer> | undefined

if (isPostgres)
  after(async () => {
    await (await server)?.[Symbol.asyncDispose]()
    process.stderr.write(`services with a database: ${databases.size}\n`)
  })

/** Settings of a service with this data folder. */
export async function engineSettings(data: string): Promise<Readonly<Record<string, string>>> {
  if (!isPostgres && !databases.has(data)) return {}
  const database = databases.get(data) ?? createDatabase()
  databases.set(data, database)
  // A shared one has the archive of its servers.
  const archive = isPostgres ? { TALLYSTICK_ARCHIVE: join(data, "archive") } : {}
  return { TALLYSTICK_DATABASE_URL: await database, ...archive }
}

async function createDatabase(): Promise<string> {
  server ??= startPostgres()
  return (await server).createDatabase()
}

/** The service of this data folder shares this database. */
export function shareDatabase(data: string, database: string): void {
  databases.set(data, Promise.resolve(database))
}

/**
 * The database of a data folder whose service was started; undefined if the folder itself has the
 * ledger.
 */
export async function databaseOf(data: string): Promise<string | undefined> {
  return await databases.get(data)
}
