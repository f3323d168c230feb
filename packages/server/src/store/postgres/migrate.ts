// Brings a database to the layout of this version. Scripts only go forward, each in a transaction
// with its number. Several processes may start at once: one migrates, the others wait for it.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Client } from "pg"
import { StartError } from "../../error.ts"

/** A lock of the server that all processes share, for the time of a migration only. */
const migrationLock = 7_455_823

export async function migrate(url: string): Promise<void> {
  const client = new Client({ connectionString: url, application_name: "tallystick migration" })
  try {
    await client.connect()
    await requireSettings(client)
    if ((await layoutOf(client)) === newestLayout()) return
    await client.query("SELECT pg_advisory_lock($1)", [migrationLock])
    await migrateForward(client)
  } catch (cause) {
    if (cause instanceof StartError) throw cause
    throw new StartError(
      `the database of TALLYSTICK_DATABASE_URL cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  } finally {
    await client.end()
  }
}

async function migrateForward(client: Client): Promise<void> {
  const done = await layoutOf(client)
  if (done > newestLayout())
    throw new StartError(
      `the database was written by a newer version of tallystick (layout ${done}, this one knows ${newestLayout()})`,
    )
  for (const { number, script } of scripts()) {
    if (number <= done) continue
    await client.query("BEGIN")
    await client.query(
      `CREATE SCHEMA IF NOT EXISTS tallystick;
       CREATE TABLE IF NOT EXISTS tallystick.layout (number integer PRIMARY KEY)`,
    )
    await client.query(script)
    await client.query("DELETE FROM tallystick.layout")
    await client.query("INSERT INTO tallystick.layout (number) VALUES ($1)", [number])
    await client.query("COMMIT")
  }
}

/** Wrong ones lose acknowledged entries at the next power cut, or show one process's past to another. */
const required: Readonly<Record<string, RegExp>> = {
  fsync: /^on$/,
  full_page_writes: /^on$/,
  synchronous_commit: /^(on|remote_apply)$/,
  transaction_isolation: /^read committed$/,
  server_encoding: /^UTF8$/,
}
const oldestVersion = 150_000

async function requireSettings(client: Client): Promise<void> {
  const setting = async (name: string): Promise<string> => {
    const { rows } = await client.query<{ value: string }>("SELECT current_setting($1) AS value", [
      name,
    ])
    return rows[0]?.value ?? ""
  }
  if (Number(await setting("server_version_num")) < oldestVersion)
    throw new StartError(
      `PostgreSQL 15 or later is needed, this is ${await setting("server_version")}`,
    )
  for (const [name, form] of Object.entries(required)) {
    const value = await setting(name)
    if (!form.test(value))
      throw new StartError(
        `the database has ${name} = ${value}, with which acknowledged entries could be lost; set it to ${form.source.replace(/[\^$()]/g, "").replace("|", " or ")}`,
      )
  }
}

/** 0 of a database without a ledger. */
async function layoutOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ found: string | null }>(
    "SELECT to_regclass('tallystick.layout')::text AS found",
  )
  if (typeof rows[0]?.found !== "string") return 0
  const layout = await client.query<{ number: number }>("SELECT number FROM tallystick.layout")
  return layout.rows[0]?.number ?? 0
}

function newestLayout(): number {
  return scripts().at(-1)?.number ?? 0
}

function scripts(): readonly { readonly number: number; readonly script: string }[] {
  const folder = join(import.meta.dirname, "migrations")
  return readdirSync(folder)
    .filter((name) => name.startsWith("ledger-"))
    .toSorted()
    .map((name) => ({
      number: Number(/\d+/.exec(name)?.[0]),
      script: readFileSync(join(folder, name), "utf8"),
    }))
}
