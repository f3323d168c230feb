// An alternative to the product: a hash-chained table in PostgreSQL, which takes a batch in one
// function that loops over its events. It has no tree, receipts, sealed fields or search. It needs
// an installed PostgreSQL (`apt-get install postgresql`), and runs in a folder of its own, on a
// socket in that folder.

import { execFileSync, spawn, type ChildProcess } from "node:child_process"
import { chownSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { dirname, join } from "node:path"
import { eventBody } from "./load.ts"
import { cpuMsWithChildren } from "./programs.ts"

export interface Peer {
  /** Durable events a second, in batches of this many on so many connections. */
  measure(batch: number, connections: number, seconds: number): number
  /** Processor time of the server so far, while nobody is connected. */
  cpuMs(): number
  stop(): Promise<void>
}

const schema = `
CREATE TABLE heads (workspace text PRIMARY KEY, sequence bigint NOT NULL, hash bytea NOT NULL);
CREATE TABLE entries (
  workspace text NOT NULL, sequence bigint NOT NULL, idem text NOT NULL, body text NOT NULL,
  previous bytea NOT NULL, hash bytea NOT NULL,
  PRIMARY KEY (workspace, sequence), UNIQUE (workspace, idem));
INSERT INTO heads VALUES ('large', 0, sha256('large'));

CREATE FUNCTION append(asked text, prefix text, events json) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE head heads%ROWTYPE; event json; place int := 0; next bytea;
BEGIN
  SELECT * INTO head FROM heads WHERE workspace = asked FOR UPDATE;
  FOR event IN SELECT json_array_elements(events) LOOP
    next := sha256(head.hash || convert_to(event::text, 'UTF8'));
    INSERT INTO entries VALUES
      (asked, head.sequence + 1, prefix || '-' || place, event::text, head.hash, next);
    head.sequence := head.sequence + 1;
    head.hash := next;
    place := place + 1;
  END LOOP;
  UPDATE heads SET sequence = head.sequence, hash = head.hash WHERE workspace = asked;
  RETURN head.sequence;
END $$;`

/** Undefined where PostgreSQL is not installed. */
export async function startPostgres(): Promise<Peer | undefined> {
  const [found] = globSync("/usr/lib/postgresql/*/bin/pgbench").toSorted().toReversed()
  if (found === undefined) return undefined
  const programs = dirname(found)
  const folder = mkdtempSync(join(tmpdir(), "tallystick-postgres-"))
  const account = accountOf(folder)
  const run = (name: string, ...given: readonly string[]): string =>
    execFileSync(join(programs, name), given, { ...account, cwd: folder, encoding: "utf8" })

  const data = join(folder, "data")
  run("initdb", "--pgdata", data, "--auth", "trust", "--username", "bench", "--no-instructions")
  const server = spawn(
    join(programs, "postgres"),
    ["-D", data, "-k", folder, "-c", "listen_addresses="],
    { ...account, cwd: folder, stdio: "ignore" },
  )
  const at = ["--host", folder, "--username", "bench"]
  while (!isReady(() => run("pg_isready", ...at))) await sleep(50)
  run("psql", ...at, "--quiet", "--dbname", "postgres", "--command", schema)
  return {
    measure(batch, connections, seconds) {
      const script = join(folder, "batch.sql")
      writeFileSync(script, scriptOf(batch))
      const load = ["--client", String(connections), "--time", String(seconds), "--file", script]
      const said = run("pgbench", ...at, "--no-vacuum", ...load, "postgres")
      const [, rate] = /tps = ([\d.]+)/.exec(said) ?? []
      if (rate === undefined) throw new Error(`pgbench says no rate: ${said}`)
      return Number(rate) * batch
    },
    cpuMs: () => cpuMsWithChildren(server.pid ?? 0),
    stop: () => stop(server, folder),
  }
}

/** PostgreSQL refuses to run as root, so it runs as the account that its package makes. */
function accountOf(folder: string): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid = 0, gid = 0] = ["-u", "-g"].map((which) =>
    Number(execFileSync("id", [which, "postgres"], { encoding: "utf8" })),
  )
  chownSync(folder, uid, gid)
  return { uid, gid }
}

function isReady(ask: () => string): boolean {
  try {
    return ask() !== ""
  } catch {
    return false
  }
}

/** The same events each time, under keys of their own. */
function scriptOf(batch: number): string {
  const events = Array.from({ length: batch }, (_, at) => eventBody("large", at))
  return `\\set turn random(1, 9000000000000000000)\nSELECT append('large', :turn::text, '[${events.join(",")}]');\n`
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  const ended = new Promise((resolve) => server.once("exit", resolve))
  server.kill("SIGINT")
  await ended
  rmSync(folder, { recursive: true })
}
