import assert from "node:assert/strict"
import test from "node:test"
import pg from "pg"
import { migrate } from "../../packages/server/src/store/postgres/migrate.ts"
import { onOwnServer, startOwnPostgres, startPostgres } from "../postgres-server.ts"
import { eventually } from "../service.ts"

// The rules that let the same tables run on one server and, distributed by workspace, on a cluster.

const server = await startPostgres()
test.after(() => server[Symbol.asyncDispose]())

/** Tables that belong to no workspace, and why. */
const withoutWorkspace: Readonly<Record<string, string>> = {
  directory: "says which workspace has a credential that is presented without one",
  uses: "has credentials by their ids alone",
  signed_heads: "is by origin, which names one epoch of one workspace",
  layout: "has the number of the layout",
  begun: "is of the whole database, before it has a workspace",
}

async function rowsOf(url: string, text: string): Promise<readonly Record<string, string>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(text)).rows
  } finally {
    await client.end()
  }
}

test("every primary key and every unique index begins with the workspace, or its table is named here", async () => {
  const url = await server.createDatabase()
  await migrate(url)
  const keys = await rowsOf(
    url,
    `SELECT c.relname AS table, i.indexrelid::regclass::text AS index, a.attname AS first
     FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
     WHERE i.indisunique AND c.relnamespace = 'tallystick'::regnamespace`,
  )
  const tables = new Set(keys.map(({ table }) => table))
  assert.ok(tables.size >= 13, `${tables.size} tables have keys`)
  const wrong = keys.filter(
    ({ table = "", first }) => first !== "workspace_id" && !(table in withoutWorkspace),
  )
  assert.deepEqual(wrong, [])
  for (const table of Object.keys(withoutWorkspace)) assert.ok(tables.has(table), table)
})

test("the layout has tables, indexes and functions: no trigger, no sequence", async () => {
  const url = await server.createDatabase()
  await migrate(url)
  const found = await rowsOf(
    url,
    `SELECT c.relname, c.relkind FROM pg_class c
     WHERE c.relnamespace = 'tallystick'::regnamespace AND c.relkind NOT IN ('r', 'i')
     UNION ALL
     SELECT t.tgname, 'trigger' FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = 'tallystick'::regnamespace AND NOT t.tgisinternal
       AND t.tgname !~ '^truncate_trigger_'`,
  )
  assert.deepEqual(found, [])
})

test("several processes that migrate at once leave one layout, and another one is refused", async () => {
  const url = await server.createDatabase()
  await Promise.all(Array.from({ length: 4 }, () => migrate(url)))
  assert.equal((await rowsOf(url, "SELECT number FROM tallystick.layout")).length, 1)
  for (const [layout, words] of [
    [99, "by a newer version of tallystick (layout 99, this one knows "],
    [4, "by an older version of tallystick (layout 4, this one knows none before "],
  ] as const) {
    await rowsOf(url, `UPDATE tallystick.layout SET number = ${layout}`)
    await assert.rejects(migrate(url), ({ message }: Error) => message.includes(words))
  }
})

test("a migration whose server is killed ends with a sentence", onOwnServer, async () => {
  await using own = await startOwnPostgres()
  const url = await own.createDatabase()
  await migrate(url)
  const other = new pg.Client({ connectionString: url })
  other.on("error", () => {})
  await other.connect()
  await other.query("BEGIN; LOCK TABLE tallystick.layout")
  const migrating = assert.rejects(migrate(url), /^StartError: the database .* cannot be used: /)
  const waiting =
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'tallystick migration' AND wait_event_type = 'Lock'"
  await eventually("it waits", async () => (await rowsOf(url, waiting))[0])
  await own.kill()
  await migrating
})
