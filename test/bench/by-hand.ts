// A simple ledger written by hand on PostgreSQL: for each event a transaction locks the row of the
// workspace's head, inserts the event under its hash, and moves the head.
//
//   node test/bench/by-hand.ts '{"url":…,"clients":64,"workspaces":1,"seconds":5}'   → events a second

import { createHash, randomUUID } from "node:crypto"
import pg from "pg"
import { eventBody } from "./load.ts"

export interface ByHand {
  readonly url: string
  readonly clients: number
  readonly workspaces: number
  readonly seconds: number
}

const schema = `
CREATE TABLE IF NOT EXISTS heads (workspace text PRIMARY KEY, sequence bigint NOT NULL, hash bytea NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
  workspace text NOT NULL, sequence bigint NOT NULL, idem text NOT NULL, body text NOT NULL,
  previous bytea NOT NULL, hash bytea NOT NULL,
  PRIMARY KEY (workspace, sequence), UNIQUE (workspace, idem))`

const lock = {
  name: "lock",
  text: "SELECT sequence, hash FROM heads WHERE workspace = $1 FOR UPDATE",
}
const insert = { name: "insert", text: "INSERT INTO entries VALUES ($1, $2, $3, $4, $5, $6)" }
const move = {
  name: "move",
  text: "UPDATE heads SET sequence = $2, hash = $3 WHERE workspace = $1",
}

// Only postgres.ts starts it, with a ByHand.
process.stdout.write(String(await writeByHand(JSON.parse(process.argv[2] ?? "") as ByHand)))

async function writeByHand({ url, clients, workspaces, seconds }: ByHand): Promise<number> {
  const setUp = new pg.Client({ connectionString: url })
  await setUp.connect()
  await setUp.query(schema)
  await setUp.query(
    "INSERT INTO heads SELECT 'w' || n, 0, sha256('') FROM generate_series(0, $1 - 1) n ON CONFLICT DO NOTHING",
    [workspaces],
  )
  await setUp.end()
  const endMs = performance.now() + seconds * 1000
  const counts = await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const connection = new pg.Client({ connectionString: url })
      await connection.connect()
      let written = 0
      while (performance.now() < endMs) {
        await writeOne(connection, `w${(client + written) % workspaces}`, written)
        written += 1
      }
      await connection.end()
      return written
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0) / seconds
}

async function writeOne(client: pg.Client, workspace: string, count: number): Promise<void> {
  const body = eventBody(workspace, count)
  await client.query("BEGIN")
  const { rows } = await client.query<{ sequence: string; hash: Buffer }>({
    ...lock,
    values: [workspace],
  })
  const [head] = rows
  if (head === undefined) throw new Error("a workspace has a head")
  const sequence = Number(head.sequence) + 1
  const hash = createHash("sha256").update(head.hash).update(body).digest()
  const values = [workspace, sequence, randomUUID(), body, head.hash, hash]
  await client.query({ ...insert, values })
  await client.query({ ...move, values: [workspace, sequence, hash] })
  await client.query("COMMIT")
}
