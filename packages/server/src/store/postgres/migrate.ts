// Migrates a database to the layout of this version. Scripts only go forward, and each runs in a
// transaction with its number. Several processes may start at once: one migrates, and the others
// wait for it.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Client } from "pg"
import { systemClock } from "../../clock.ts"
import { detailOf, StartError } from "../../error.ts"
import { addressOf, beginAcrossNodes, stateOf, unlimited } from "./connection.ts"
import { closedSentence, closedTables } from "./database-state.ts"

/** The errors of a migration while another process runs the same one: existing names, and locks. */
const meanwhile = /^(23505|42P06|42P07|42710|42723|40001|40P01|XX000)$/
const triesMax = 10
const retryAfterMs = 300

export async function migrate(url: string): Promise<{ readonly isCluster: boolean }> {
  return await withClient(url, async (client) => {
    await requireSettings(client)
    for (let tries = 1; (await layoutOf(client)) !== newestLayout(); tries++) {
      try {
        await migrateForward(client)
      } catch (error) {
        await client.query("ROLLBACK")
        if (tries === triesMax || !meanwhile.test(stateOf(error))) throw error
        await systemClock.sleep(retryAfterMs)
      }
    }
    return { isCluster: await hasCitus(client) }
  })
}

/** Throws unless the database can hold a ledger. */
export async function checkPostgres(url: string) {
  return await withClient(url, async (client) => {
    const version = await requireSettings(client)
    const { rows } = await client.query<{ isReadOnly: boolean }>(
      'SELECT pg_is_in_recovery() AS "isReadOnly"',
    )
    const hasLedger = (await layoutOf(client)) > 0
    return { version, isReadOnly: rows[0]?.isReadOnly === true, hasLedger }
  })
}

async function withClient<T>(url: string, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(addressOf(url, "tallystick migration", unlimited))
  // If the connection is lost, the statement that is under way reports that, or the next one.
  client.on("error", () => {})
  try {
    await client.connect()
    return await act(client)
  } catch (cause) {
    if (cause instanceof StartError) throw cause
    throw new StartError(
      `the database of TALLYSTICK_DATABASE_URL cannot be used: ${detailOf(cause)}`,
      { cause },
    )
  } finally {
    await client.end()
  }
}

/**
 * Where a cluster stores the rows of a table: with their workspace, unless the table is named here.
 */
const distribution: Readonly<Record<string, "every node" | { readonly by: string }>> = {
  directory: "every node",
  uses: "every node",
  layout: "every node",
  begun: "every node",
  signed_heads: { by: "origin" },
}
/** The other tables are colocated with it. */
const firstTable = "heads"

async function hasCitus(client: Client): Promise<boolean> {
  const { rows } = await client.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
  return rows.length > 0
}

/**
 * On a Citus cluster, distributes the tables of a migration, and makes appends run on the node of
 * the workspace. On any other server it does nothing.
 */
async function distribute(client: Client): Promise<void> {
  if (!(await hasCitus(client))) return
  const { rows } = await client.query<{ name: string }>(
    `SELECT t.tablename AS name FROM pg_tables t
     WHERE t.schemaname = 'tallystick'
       AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = ('tallystick.' || t.tablename)::regclass)
     ORDER BY t.tablename <> $1, t.tablename`,
    [firstTable],
  )
  for (const { name } of rows) {
    const place = distribution[name] ?? { by: "workspace_id" }
    if (place === "every node")
      await client.query("SELECT create_reference_table($1)", [`tallystick.${name}`])
    else
      await client.query("SELECT create_distributed_table($1, $2, colocate_with => $3)", [
        `tallystick.${name}`,
        place.by,
        name === firstTable || place.by !== "workspace_id" ? "none" : `tallystick.${firstTable}`,
      ])
  }
  await client.query(
    `SELECT create_distributed_function(p.oid::regprocedure, 'p_workspace_id', colocate_with => $1)
     FROM pg_proc p WHERE p.pronamespace = 'tallystick'::regnamespace AND p.proname = 'append_group'`,
    [`tallystick.${firstTable}`],
  )
}

async function migrateForward(client: Client): Promise<void> {
  const done = await layoutOf(client)
  if (done > newestLayout())
    throw new StartError(
      `the database was written by a newer version of tallystick (layout ${done}, this one knows ${newestLayout()})`,
    )
  const [oldest] = scripts()
  if (done > 0 && oldest !== undefined && done < oldest.number)
    throw new StartError(
      `the database was written by an older version of tallystick (layout ${done}, this one knows none before ${oldest.number})`,
    )
  for (const { number, script } of scripts()) {
    if (number <= done) continue
    const before = number === oldest?.number ? 0 : number - 1
    await client.query(beginAcrossNodes)
    if (before === 0)
      await client.query(
        "CREATE SCHEMA tallystick; CREATE TABLE tallystick.layout (number integer PRIMARY KEY)",
      )
    // A process that has waited here for another one finds the new number.
    const { rows } = await client.query<{ number: number }>(
      "SELECT number FROM tallystick.layout FOR UPDATE",
    )
    if ((rows[0]?.number ?? 0) !== before) {
      await client.query("ROLLBACK")
      return
    }
    await client.query(script)
    await distribute(client)
    await client.query("DELETE FROM tallystick.layout")
    await client.query("INSERT INTO tallystick.layout (number) VALUES ($1)", [number])
    await client.query("COMMIT")
  }
}

/**
 * With wrong settings, a power cut loses acknowledged entries, or one process sees stale data of
 * another.
 */
const required: Readonly<Record<string, RegExp>> = {
  fsync: /^on$/,
  full_page_writes: /^on$/,
  synchronous_commit: /^(on|remote_apply)$/,
  transaction_isolation: /^read committed$/,
  server_encoding: /^UTF8$/,
}
const oldestVersion = 150_000

async function requireSettings(client: Client): Promise<string> {
  const setting = async (name: string): Promise<string> => {
    const { rows } = await client.query<{ value: string }>("SELECT current_setting($1) AS value", [
      name,
    ])
    return rows[0]?.value ?? ""
  }
  const version = await setting("server_version")
  if (Number(await setting("server_version_num")) < oldestVersion)
    throw new StartError(`PostgreSQL 15 or later is needed, this is ${version}`)
  for (const [name, form] of Object.entries(required)) {
    const value = await setting(name)
    if (!form.test(value))
      throw new StartError(
        `the database has ${name} = ${value}, with which acknowledged entries could be lost; set it to ${form.source.replace(/[\^$()]/g, "").replace("|", " or ")}`,
      )
  }
  const { rows } = await client.query<{ tables: string | null }>(closedTables)
  const [{ tables } = { tables: null }] = rows
  if (tables !== null) throw new StartError(closedSentence(tables))
  return version
}

/** 0 for a database without a ledger. */
async function layoutOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ found: string | null }>(
    "SELECT to_regclass('tallystick.layout')::text AS found",
  )
  if (typeof rows[0]?.found !== "string") return 0
  const layout = await client.query<{ number: number }>("SELECT number FROM tallystick.layout")
  return layout.rows[0]?.number ?? 0
}

export function newestLayout(): number {
  return scripts().at(-1)?.number ?? 0
}

/** The body of a database function in the newest script that defines it. */
export function bodyOfFunction(name: string): string | undefined {
  const made = new RegExp(`FUNCTION tallystick\\.${name} ?\\([^]*?AS \\$\\$([^]*?)\\$\\$`, "g")
  return scripts()
    .flatMap(({ script }) => [...script.matchAll(made)])
    .at(-1)?.[1]
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
