// Opens our SQLite files with the settings that we rely on, and asserts them: if a setting silently
// did not take effect, the next power cut could lose acknowledged entries.

import { assert } from "@tallystick/proof"
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite"
import { sqliteCodeOf, StartError } from "../../error.ts"

export type Durability = "full" | "normal"
export type Layout = "journal" | "index" | "search"

/** Below this version a checkpoint racing with a write could corrupt a WAL database. */
export const oldestSqlite = "3.51.3"

/**
 * An entry is a row of about a kilobyte. The rest at the end of a page is too small for another
 * row: with 8 KiB pages, these rests are a tenth of the file.
 */
const pageBytes = { journal: 16_384, index: 8192, search: 8192 } as const
const busyTimeoutMs = 10_000
/**
 * SQLite plans a statement again each time the value of a plain `LIMIT ?` is bound, which costs as
 * much as reading some thirty entries.
 */
export const atMost = "LIMIT +?"
/** The layout of a journal that is copied into the present one (journal-upgrade.ts). */
export const formerLayout = 3
/** SQLite's codes for a file that another program uses, and for a full disk. */
export const [busy, full] = [5, 13] as const
/** SQLite's codes for a file that is damaged, and for one that is no database. */
const damaged: readonly number[] = [11, 26]
/**
 * The page cache of each of the sixteen connections. The writer appends, so it touches few pages.
 * Readers also profit from the system's cache.
 */
const cacheKiB = 4096

/**
 * Opens a file for its one writer; creates or migrates it if needed, unless `migrates` is false.
 * `full`: a commit is on the disk when it returns.
 */
export function openForWriting(
  path: string,
  layout: Layout,
  durability: Durability,
  migrates = true,
): DatabaseSync {
  requireWritable(path)
  const database = openFile(path, { timeout: busyTimeoutMs })
  requireDatabase(database, path)
  requireVersion(database)
  database.exec(
    `PRAGMA page_size = ${pageBytes[layout]}; PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = WAL;`,
  )
  // On macOS, an fsync only reaches the cache of the drive, unless F_FULLFSYNC is requested.
  // Elsewhere these two settings change nothing.
  const on = (isOn: boolean): string => (isOn ? "ON" : "OFF")
  database.exec(`PRAGMA synchronous = ${durability.toUpperCase()};`)
  database.exec(`PRAGMA fullfsync = ${on(durability === "full")};`)
  // Content that was destroyed in the journal must not come back after its log was emptied.
  const isDurable = durability === "full" || layout === "journal"
  database.exec(`PRAGMA checkpoint_fullfsync = ${on(isDurable)};`)
  // Former content of a document or a segment, such as a destroyed key or a word of an erased name,
  // must not stay in free parts of the file.
  if (layout !== "index") database.exec("PRAGMA secure_delete = ON;")
  settle(database)
  assert(pragma(database, "journal_mode") === "wal", `${layout} must be in WAL mode`)
  assert(
    pragma(database, "synchronous") === (durability === "full" ? 2 : 1),
    `${layout} must be opened with synchronous=${durability}`,
  )
  if (migrates) migrate(database, layout)
  return database
}

/** A new file that is removed when it is closed. */
export function openTemporary(layout: Layout): DatabaseSync {
  const database = new DatabaseSync("")
  migrate(database, layout)
  return database
}

/** The layout of a file; 0 if it has none yet. */
export function layoutOf(path: string): number {
  using database = openFile(path, { timeout: busyTimeoutMs })
  requireDatabase(database, path)
  return versionOf(database)
}

export function versionOf(database: DatabaseSync): number {
  return Number(pragma(database, "user_version"))
}

/** The free space of the disk that a folder is on. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Runs `act` in one transaction, which commits or rolls back. */
export function within<T>(database: DatabaseSync, act: () => T): T {
  database.exec("BEGIN IMMEDIATE")
  try {
    const result = act()
    database.exec("COMMIT")
    return result
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK")
    throw error
  }
}

/**
 * Syncs what was committed by a connection without an fsync for each commit: a commit with one syncs
 * the whole log. This one changes nothing.
 */
export function syncLog(database: DatabaseSync): void {
  database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;")
  try {
    database.exec(`PRAGMA user_version = ${versionOf(database)};`)
  } finally {
    database.exec("PRAGMA synchronous = NORMAL; PRAGMA fullfsync = OFF;")
  }
}

/**
 * Moves the log into its file and empties it, because it contains former versions of pages. Returns
 * false if a reader on another connection needs it longer than `waitMs`. Commits wait meanwhile.
 */
export function emptyLog(database: DatabaseSync, waitMs: number): boolean {
  // Moves most of it without making commits wait.
  database.exec(`PRAGMA wal_checkpoint(PASSIVE); PRAGMA busy_timeout = ${waitMs};`)
  try {
    return Number(database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"]) === 0
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs};`)
  }
}

/** Opens a file that another connection writes. */
export function openForReading(path: string): DatabaseSync {
  // A command may have been killed while it changed a copy, which has no log yet: only a connection
  // that may write takes that back.
  if (existsSync(`${path}-journal`)) {
    using writing = openFile(path, { timeout: busyTimeoutMs })
    requireDatabase(writing, path)
  }
  const database = openFile(path, { readOnly: true, timeout: busyTimeoutMs })
  settle(database)
  return database
}

/**
 * Opens a file. SQLite's own error names neither the file nor the cause, which is mostly a wrong
 * owner or permission.
 */
export function openFile(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  try {
    return new DatabaseSync(path, options)
  } catch (cause) {
    if (sqliteCodeOf(cause) === 0) throw cause
    throw new StartError(
      `${path} cannot be opened; check its owner, its permissions, and its disk`,
      { cause },
    )
  }
}

/**
 * Throws if a file or its folder is read-only. SQLite would still open the file, and fail at the
 * first write.
 */
export function requireWritable(path: string): void {
  for (const one of [dirname(path), path]) {
    try {
      accessSync(one, constants.W_OK)
    } catch (cause) {
      if (!existsSync(one)) continue
      throw new StartError(
        `${one} cannot be written to; check its owner, its permissions, and its disk`,
        { cause },
      )
    }
  }
}

/**
 * Throws if a folder has no ledger. If a permission to check that is missing, throws the system's
 * error.
 */
export function requireLedger(folder: string): void {
  if (!hasContent(join(folder, "journal.db")))
    throw new StartError(`there is no ledger in ${folder}: TALLYSTICK_DATA must name its folder`)
}

/** False for an empty file, in which SQLite would make a new database. */
export function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

function settle(database: DatabaseSync): void {
  database.exec(`PRAGMA cache_size = -${cacheKiB}; PRAGMA temp_store = MEMORY;`)
  assert(pragma(database, "busy_timeout") === busyTimeoutMs, "busy_timeout is set")
}

function requireVersion(database: DatabaseSync): void {
  const version = String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"])
  assert(
    isAtLeast(version, oldestSqlite),
    `SQLite ${oldestSqlite} or later is needed, this runtime has ${version}`,
  )
}

export function isAtLeast(version: string, oldest: string): boolean {
  // A comparison of numbers in text (Intl) costs a thread 7 ms, the first time.
  const padded = (text: string) => text.split(".").map((part) => part.padStart(6, "0"))
  return padded(version).join() >= padded(oldest).join()
}

/** The first read of the file: throws if it is not a database, or is damaged. */
function requireDatabase(database: DatabaseSync, path: string): void {
  try {
    database.exec("PRAGMA schema_version")
  } catch (cause) {
    throw orDamaged(path, cause)
  }
}

export function bytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new Error("a column that holds bytes holds something else")
  return value
}

/** An error that says that the file is damaged, if the cause says that. Otherwise the cause. */
export function orDamaged(path: string, cause: unknown): unknown {
  if (!isDamage(cause)) return cause
  const isDerived = ["index.db", "search.db"].includes(basename(path))
  const advice = isDerived ? "run tallystick reindex, which makes it again" : "restore a backup"
  const detail = `${path} is not a database, or is damaged; ${advice}, or look at the disk`
  return new StartError(detail, { cause })
}

export function isDamage(error: unknown): boolean {
  const { cause } = error instanceof StartError ? error : { cause: error }
  return damaged.includes(sqliteCodeOf(cause) & 0xff)
}

/** The schema of a file, by name, and the schema that our scripts create for its layout. */
export function schemaOf(database: DatabaseSync, layout: Layout) {
  const done = versionOf(database)
  using fresh = new DatabaseSync(":memory:")
  for (const { number, script } of scriptsOf(layout)) if (number <= done) fresh.exec(script)
  return { found: statementsOf(database), expected: statementsOf(fresh) }
}

function statementsOf(database: DatabaseSync): ReadonlyMap<string, string> {
  // SQLite reserves the names of its own tables.
  const rows = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    .all()
  return new Map(rows.map((row) => [String(row["name"]), String(row["sql"])]))
}

export function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
}

/** Migrations only go forward. A file of another version is refused and not changed. */
function migrate(database: DatabaseSync, layout: Layout): void {
  const done = versionOf(database)
  if (done > 0) requireKnown(layout, done)
  const pending = scriptsOf(layout).filter(({ number }) => number > done)
  const steps = pending.map(({ number, script }) => ({
    number,
    sql: `${script}\nPRAGMA user_version = ${number};`,
  }))
  // A new file gets all its tables in one transaction: if the process were killed in between, the
  // file would seem to have an older layout.
  const all = { number: 0, sql: steps.map(({ sql }) => sql).join("\n") }
  for (const { sql } of done === 0 ? [all] : steps)
    database.exec(`BEGIN IMMEDIATE;\n${sql}\nCOMMIT;`)
}

/** Throws for a layout that no script makes. */
export function requireKnown(layout: Layout, done: number): void {
  const known = scriptsOf(layout).map(({ number }) => number)
  if (known.includes(done)) return
  const newest = known.at(-1) ?? 0
  const age = done > newest ? "a newer" : "an older"
  throw new StartError(
    `the ${layout} file was written by ${age} version of tallystick (layout ${done}, this one knows ${newest})`,
  )
}

/** Migration scripts in order. Layouts before the first script are not migrated. */
function scriptsOf(
  layout: Layout,
): readonly { readonly number: number; readonly script: string }[] {
  const folder = join(import.meta.dirname, "migrations")
  const names = readdirSync(folder).filter((name) => name.startsWith(`${layout}-`))
  return names.toSorted().map((name) => ({
    number: Number(/\d+/.exec(name)?.[0]),
    script: readFileSync(join(folder, name), "utf8"),
  }))
}
