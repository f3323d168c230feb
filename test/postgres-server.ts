import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { freemem, tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { freePort } from "./free-port.ts"
import { postgresBinaries } from "./postgres-binaries.ts"
import { run } from "./program.ts"

// A real PostgreSQL for the tests of one file, on a free port of 127.0.0.1. `await using` ends it
// and removes its data. With TEST_DATABASE_URL, an existing server is used instead, by a superuser
// who makes databases on it and drops them again; with TEST_CITUS_URL an existing Citus cluster, by
// the address of its coordinator.

export interface PostgresServer extends AsyncDisposable {
  /** For a database by its name. */
  url(database: string): string
  /** Makes an empty database, and resolves to its URL. */
  createDatabase(): Promise<string>
  /** Cuts the connections of all clients to the databases that were made here. */
  terminateBackends(): Promise<void>
  /** All that the server has logged; of an existing server nothing. */
  log(): string
}

export interface OwnPostgresServer extends PostgresServer {
  /** Stops as an operator would: connections end, and everything is written. */
  stop(): Promise<void>
  /** SIGKILL for the postmaster and all processes of its own, as when memory runs out. */
  kill(): Promise<void>
  /** On the same port and data, whether it runs, was stopped, or was killed. */
  restart(): Promise<void>
  /** Stops the postmaster and all processes of its own, so that it does not answer any more. */
  hang(): Promise<void>
  /** Lets them go on. */
  goOn(): void
  /**
   * Stops this server, copies its data, and starts both: a second server that follows this one. If
   * synchronous, a commit waits for it.
   */
  standby(options: { readonly synchronous: boolean }): Promise<Standby>
}

export interface Standby extends OwnPostgresServer {
  /** Makes it a server that takes writes. It no longer follows. */
  promote(): Promise<void>
}

export interface PostgresOptions {
  /** As in postgresql.conf, in addition to ours or in their place. */
  readonly settings?: Settings
  /** Where its speed is measured, it is on a disk, as an operator's is. */
  readonly onDisk?: boolean
}

type Settings = Readonly<Record<string, string>>

const cluster = process.env["TEST_CITUS_URL"]
const existing = cluster ?? process.env["TEST_DATABASE_URL"]

/** The options of a test that kills, restarts or copies its server. */
export const onOwnServer = {
  skip:
    existing === undefined ? false : "TEST_DATABASE_URL names a server that is not ours to stop",
}

const startsWithinMs = 30_000

/** Nobody: PostgreSQL does not run as root. */
const account = process.getuid?.() === 0 ? 65_534 : undefined

/**
 * Settings that we rely on, or that keep the server small. Those that make a commit durable have
 * their defaults.
 */
const usualSettings: Settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  shared_buffers: "16MB",
  wal_level: "replica",
  // What a standby needs to follow from its copy on.
  wal_keep_size: "256MB",
  // In the data folder, so that nothing of a killed server stays in /dev/shm.
  dynamic_shared_memory_type: "mmap",
}

/** A server for tests that need no more than a database. */
export async function startPostgres(): Promise<PostgresServer> {
  return existing === undefined ? await startOwnPostgres() : existingServer(existing)
}

/** A server that the test may kill, restart and copy: only in tests with `onOwnServer`. */
export async function startOwnPostgres(options: PostgresOptions = {}): Promise<OwnPostgresServer> {
  removeForgotten()
  const template = await templateOf(postgresBinaries())
  const folder = makeFolder(!options.onDisk && hasRoom(inMemory) ? inMemory : tmpdir())
  copyOwned(join(template, "data"), join(folder, "data"))
  const password = readFileSync(join(template, "password"), "utf8")
  return await startIn(folder, password, { ...usualSettings, ...options.settings })
}

/** A cluster that was never started, made once by these binaries: all others are copies of it. */
async function templateOf(binaries: string): Promise<string> {
  const { mtimeMs } = statSync(join(binaries, "initdb"))
  const of = createHash("sha256").update(JSON.stringify([binaries, mtimeMs, account, initialized]))
  const name = `tallystick-postgres-template-${of.digest("hex").slice(0, 16)}`
  const template = join(tmpdir(), `${name}-of-${process.getuid?.() ?? 0}`)
  if (!existsSync(template)) await makeTemplate(binaries, template)
  // Any account could have made a folder of this name in /tmp.
  if (statSync(template).uid !== (process.getuid?.() ?? 0))
    throw new Error(`${template} belongs to somebody else`)
  return template
}

/**
 * ICU sorts ids in another order than their bytes, as most operators' databases do: a statement
 * that needs the order of bytes must say so.
 */
const initialized = [
  "--username=postgres",
  "--auth=password",
  "--encoding=UTF8",
  "--locale=C",
  "--locale-provider=icu",
  "--icu-locale=en",
  "--no-sync",
]

/** Appears whole or not at all; of two tests that make it at once, one wins. */
async function makeTemplate(binaries: string, template: string): Promise<void> {
  const folder = makeFolder(dirname(template))
  writeFileSync(join(folder, "password"), randomBytes(16).toString("hex"), { mode: 0o644 })
  const { code, output, errors } = await run(
    join(binaries, "initdb"),
    [...initialized, `--pgdata=${join(folder, "data")}`, `--pwfile=${join(folder, "password")}`],
    { cwd: folder, environment: {}, ...(account === undefined ? {} : { uid: account }) },
  )
  if (code !== 0) {
    rmSync(folder, { recursive: true })
    throw new Error(`initdb ended with ${code}:\n${output}${errors}`)
  }
  try {
    renameSync(folder, template)
  } catch (error) {
    rmSync(folder, { recursive: true })
    if (!existsSync(template)) throw error
  }
}

async function startIn(folder: string, password: string, settings: Settings): Promise<Standby> {
  const port = await freePort()
  const postmaster = createPostmaster(folder, { port: String(port), ...settings })
  const remove = async () => {
    // It need not write what is removed now.
    await postmaster.end("SIGQUIT")
    removeSharedMemory(folder)
    rmSync(folder, { recursive: true })
  }
  try {
    await postmaster.start()
  } catch (error) {
    await remove()
    throw error
  }
  const databases = createDatabases(`postgresql://postgres:${password}@127.0.0.1:${port}/postgres`)
  const restart = async () => {
    await postmaster.end("SIGINT")
    await postmaster.start()
  }
  return {
    ...databases,
    log: postmaster.log,
    stop: () => postmaster.end("SIGINT"),
    kill: postmaster.kill,
    restart,
    hang: postmaster.hang,
    goOn: postmaster.goOn,
    async standby({ synchronous }) {
      await postmaster.end("SIGINT")
      const copy = copyForStandby(folder, { port, password })
      await postmaster.start()
      const standby = await startIn(copy, password, settings)
      await databases.follow(synchronous)
      return standby
    },
    promote: databases.promote,
    [Symbol.asyncDispose]: remove,
  }
}

// Folders -----------------------------------------------------------------------------------------

const prefix = "tallystick-postgres-data-"

/**
 * A file system in memory, on Linux: there a server is copied and synced at little cost. What it has
 * written survives its kill, as on a disk.
 */
const inMemory = "/dev/shm"
/** Several times what a server of the tests writes. */
const roomBytes = 4 * 2 ** 30

function hasRoom(path: string): boolean {
  if (!existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return Math.min(bavail * bsize, freemem()) > roomBytes
}

/** Where servers have their data. The name of a folder begins with the process that owns it. */
export function foldersOfServers(pid: number | "*" = "*"): readonly string[] {
  return globSync([tmpdir(), inMemory].map((path) => join(path, `${prefix}${pid}-*`)))
}

/** The name says which process owns it, so a later test can remove the folder of a killed one. */
function makeFolder(path: string): string {
  const folder = mkdtempSync(join(path, `${prefix}${process.pid}-`))
  // Ours, and its data the other account's.
  chmodSync(folder, 0o711)
  mkdirSync(join(folder, "data"), { mode: 0o700 })
  if (account !== undefined) chownSync(join(folder, "data"), account, account)
  return folder
}

function removeForgotten(): void {
  for (const folder of foldersOfServers()) {
    const [pid = ""] = basename(folder).slice(prefix.length).split("-")
    const ours = statSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.()
    if (!ours || isRunning(Number(pid))) continue
    const taken = join(dirname(folder), `${prefix}${process.pid}-${pid}`)
    try {
      renameSync(folder, taken)
    } catch {
      // Another test is removing it.
      continue
    }
    // Its server may have processes that are just ending.
    rmSync(taken, { recursive: true, maxRetries: 10, retryDelay: 50 })
  }
}

function copyForStandby(
  primary: string,
  { port, password }: { readonly port: number; readonly password: string },
): string {
  const folder = makeFolder(dirname(primary))
  const data = join(folder, "data")
  copyOwned(join(primary, "data"), data)
  writeFileSync(join(data, "standby.signal"), "")
  const connection = `host=127.0.0.1 port=${port} user=postgres password=${password} application_name=standby`
  writeFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${connection}'\n`)
  if (account !== undefined)
    for (const name of ["standby.signal", "postgresql.auto.conf"])
      chownSync(join(data, name), account, account)
  return folder
}

/** With the account's owner, and what is there already. */
function copyOwned(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  if (account === undefined) return
  for (const path of readdirSync(to, { recursive: true, encoding: "utf8" }))
    chownSync(join(to, path), account, account)
}

/**
 * A server that was killed leaves the segment that says who uses the data. The seventh line of this
 * file has its key and its id.
 */
function removeSharedMemory(folder: string): void {
  const segment = textIfThere(join(folder, "data", "postmaster.pid")).split("\n")[6] ?? ""
  const [, id] = segment.trim().split(/\s+/)
  if (id !== undefined) spawnSync("ipcrm", ["-m", id])
}

// The processes -----------------------------------------------------------------------------------

interface Postmaster {
  readonly start: () => Promise<void>
  /** Resolves once all of its processes have ended; at once if none runs. */
  readonly end: (signal: NodeJS.Signals) => Promise<void>
  readonly kill: () => Promise<void>
  readonly hang: () => Promise<void>
  readonly goOn: () => void
  readonly log: () => string
}

function createPostmaster(folder: string, settings: Settings): Postmaster {
  let child: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()
  const log = () => readFileSync(join(folder, "log"), "utf8")
  /** Its children, once it is stopped: it has no further ones then. */
  const stopped = async (pid: number): Promise<readonly number[]> => {
    sendTo(pid, "SIGSTOP")
    while (/^[RSD]/.test(stateOf(pid))) await sleep(1)
    return childrenOf(pid)
  }
  return {
    log,
    async hang() {
      if (child?.pid === undefined) return
      for (const pid of await stopped(child.pid)) sendTo(pid, "SIGSTOP")
    },
    goOn() {
      if (child?.pid === undefined) return
      for (const pid of [child.pid, ...childrenOf(child.pid)]) sendTo(pid, "SIGCONT")
    },
    async start() {
      const starting = spawnPostgres(folder, settings)
      child = starting
      ended = new Promise((resolve) => starting.once("exit", resolve).once("error", resolve))
      living.add(starting)
      void ended.then(() => living.delete(starting))
      const giveUpMs = performance.now() + startsWithinMs
      while (!isReady(folder, starting)) {
        if (hasEnded(starting) || performance.now() > giveUpMs)
          throw new Error(`PostgreSQL did not start:\n${log()}`)
        await sleep(5)
      }
    },
    async end(name) {
      if (child !== undefined && !hasEnded(child)) child.kill(name)
      await ended
    },
    async kill() {
      if (child?.pid === undefined || hasEnded(child)) return
      const children = await stopped(child.pid)
      child.kill("SIGKILL")
      for (const pid of children) sendTo(pid, "SIGKILL")
      await ended
      while (children.some(isRunning)) await sleep(1)
    },
  }
}

/** Servers end with the tests. For a test that is killed, `leash` ends them. */
const living = new Set<ChildProcess>()
process.once("exit", () => living.forEach((child) => child.kill("SIGQUIT")))

/** A prefix for a command on Linux: it gets SIGQUIT when we are killed. */
const leash = ["setpriv", "--pdeathsig=QUIT"]

function spawnPostgres(folder: string, settings: Settings): ChildProcess {
  const [command = "", ...args] = [
    ...(spawnSync("setpriv", [...leash.slice(1), "true"]).status === 0 ? leash : []),
    join(postgresBinaries(), "postgres"),
    "-D",
    join(folder, "data"),
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ]
  const log = openSync(join(folder, "log"), "a")
  try {
    return spawn(command, args, {
      cwd: folder,
      env: {},
      stdio: ["ignore", log, log],
      ...(account === undefined ? {} : { uid: account, gid: account }),
    })
  } finally {
    closeSync(log)
  }
}

/** The first and eighth line of PostgreSQL's pid file; a killed server leaves it. */
function isReady(folder: string, { pid }: ChildProcess): boolean {
  const lines = textIfThere(join(folder, "data", "postmaster.pid")).split("\n")
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready"
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

function childrenOf(parent: number): readonly number[] {
  return processes()
    .filter((each) => each.parent === parent)
    .map(({ pid }) => pid)
}

/** A zombie only waits to be asked how it ended. */
function isRunning(pid: number): boolean {
  return /^[^Z]/.test(stateOf(pid))
}

/** The letter that `ps` shows for it first; empty if it is not there. */
function stateOf(pid: number): string {
  return processes().find((each) => each.pid === pid)?.state ?? ""
}

interface Process {
  readonly pid: number
  readonly parent: number
  readonly state: string
}

/** Without `ps` on Linux: small images lack it. */
function processes(): readonly Process[] {
  if (process.platform === "linux")
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => statusOf(Number(name)) ?? [])
  return spawnSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" })
    .stdout.trim()
    .split("\n")
    .map((line) => {
      const [pid, parent, state = ""] = line.trim().split(/\s+/)
      return { pid: Number(pid), parent: Number(parent), state }
    })
}

function statusOf(pid: number): Process | undefined {
  // The name of the program stands in brackets, and may have some itself.
  const [, state, parent] = /^\d+ \(.*\) (\S) (\d+)/s.exec(textIfThere(`/proc/${pid}/stat`)) ?? []
  return state === undefined ? undefined : { pid, parent: Number(parent), state }
}

/** The text of a file that another process removes at any time; empty without it. */
function textIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return ""
    throw error
  }
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

// Databases ---------------------------------------------------------------------------------------

function existingServer(address: string): PostgresServer {
  const { url, createDatabase, terminateBackends, drop } = createDatabases(address)
  return { url, createDatabase, terminateBackends, log: () => "", [Symbol.asyncDispose]: drop }
}

function createDatabases(address: string) {
  const made: string[] = []
  const url = (database: string) => {
    const other = new URL(address)
    other.pathname = `/${database}`
    return other.href
  }
  return {
    url,
    createDatabase: async (): Promise<string> => {
      const name = `tallystick_${randomBytes(8).toString("hex")}`
      await askDatabase(address, `CREATE DATABASE ${name} TEMPLATE template0`)
      made.push(name)
      if (cluster !== undefined) await joinNodes(address, name)
      return url(name)
    },
    terminateBackends: async (): Promise<void> => {
      await askDatabase(
        address,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = ANY($1)",
        [made],
      )
    },
    drop: async (): Promise<void> => {
      for (const name of made.splice(0)) {
        await askDatabase(address, `DROP DATABASE ${name} WITH (FORCE)`)
        for (const node of cluster === undefined ? [] : await workersOf(address))
          await askDatabase(node, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      }
    },
    /** Resolves once a standby follows, and commits wait for it if they shall. */
    follow: async (synchronous: boolean): Promise<void> => {
      if (synchronous) {
        await askDatabase(address, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        await askDatabase(address, "SELECT pg_reload_conf()")
      }
      const follows = `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = $1`
      while ((await askDatabase(address, follows, [synchronous ? "sync" : "async"])).length === 0)
        await sleep(10)
    },
    promote: async (): Promise<void> => {
      await askDatabase(address, "SELECT pg_promote()")
    },
  }
}

/** On a connection of its own. */
export async function askDatabase(address: string, sql: string, values: readonly unknown[] = []) {
  const client = new pg.Client(address)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql, [...values])).rows
  } finally {
    await client.end()
  }
}

// A cluster ---------------------------------------------------------------------------------------

interface ClusterNode {
  readonly host: string
  readonly port: number
  readonly isCoordinator: boolean
}

/** The nodes, as the cluster of the database in the address knows them. */
async function nodesOf(address: string): Promise<readonly ClusterNode[]> {
  const rows = await askDatabase(
    address,
    "SELECT nodename, nodeport, groupid FROM pg_dist_node WHERE isactive ORDER BY groupid",
  )
  return rows.map(({ nodename, nodeport, groupid }) => ({
    host: String(nodename),
    port: Number(nodeport),
    isCoordinator: groupid === 0,
  }))
}

async function workersOf(address: string): Promise<readonly string[]> {
  const nodes = await nodesOf(address)
  return nodes.filter(({ isCoordinator }) => !isCoordinator).map((node) => addressOf(address, node))
}

function addressOf(address: string, { host, port }: ClusterNode, database?: string): string {
  const other = new URL(address)
  other.hostname = host
  other.port = String(port)
  if (database !== undefined) other.pathname = `/${database}`
  return other.href
}

/** Makes a database of a coordinator one of the cluster that the address names. */
async function joinNodes(address: string, database: string): Promise<void> {
  const nodes = await nodesOf(address)
  for (const node of nodes) {
    if (!node.isCoordinator)
      await askDatabase(addressOf(address, node), `CREATE DATABASE ${database}`)
    await askDatabase(addressOf(address, node, database), "CREATE EXTENSION citus")
  }
  const [coordinator, ...workers] = nodes
  if (coordinator === undefined) throw new Error("TEST_CITUS_URL names no cluster")
  const here = addressOf(address, coordinator, database)
  await askDatabase(here, "SELECT citus_set_coordinator_host($1, $2)", [
    coordinator.host,
    coordinator.port,
  ])
  for (const { host, port } of workers)
    await askDatabase(here, "SELECT citus_add_node($1, $2)", [host, port])
  await askDatabase(here, `ALTER DATABASE ${database} SET citus.shard_count = 4`)
}
