// Loaded before a program that is to be killed at one of its steps: what it has done by then is
// there, and nothing after it. A step is a commit, a checkpoint of a log, or a change of a file or
// its name, in any thread, and with PostgreSQL a statement that changes something or ends a
// transaction, right after it was sent. The file of STEPS has the number of the last step in its
// first line, and gets a line for each step; while it is not there, nothing is counted.

import files from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { Socket } from "node:net"
import { basename } from "node:path"
import sqlite from "node:sqlite"

type Call = (...values: readonly unknown[]) => unknown

const path = process.env["STEPS"] ?? ""
const { appendFileSync, existsSync, readFileSync } = files

function step(name: string): void {
  if (!existsSync(path)) return
  appendFileSync(path, `${name}\n`)
  const [last, ...steps] = readFileSync(path, "utf8").trimEnd().split("\n")
  if (steps.length >= Number(last)) process.kill(process.pid, "SIGKILL")
}

/** `act` calls the original method, and does more. */
function replace(
  owner: object,
  name: string,
  act: (original: Call, self: unknown, values: readonly unknown[]) => unknown,
): void {
  // These are all functions.
  const original = Reflect.get(owner, name) as Call
  Reflect.set(owner, name, function (this: unknown, ...values: readonly unknown[]): unknown {
    return act((...given) => Reflect.apply(original, this, given), this, values)
  })
}

// Files -------------------------------------------------------------------------------------------

for (const name of ["renameSync", "rmSync", "fsyncSync", "fdatasyncSync", "writeSync"])
  replace(files, name, (original, _, values) => {
    const result = original(...values)
    step(name)
    return result
  })
for (const name of ["open", "rename", "rm"])
  replace(files.promises, name, async (original, _, values) => {
    const result = await original(...values)
    // With a number for its flags, a file is made.
    if (name !== "open" || typeof values[1] === "number") step(name)
    return result
  })
syncBuiltinESMExports()

// SQLite ------------------------------------------------------------------------------------------

const { DatabaseSync, StatementSync } = sqlite
const statements = new WeakMap<object, string>()

/** Undefined of what changes no file. The index is made again from the journal. */
function stepOf(database: unknown, sql: unknown): string | undefined {
  const name = database instanceof DatabaseSync ? basename(database.location() ?? "") : ""
  if (!/^(journal|search)\.db/.test(name)) return undefined
  const what = /\bCOMMIT\b|wal_checkpoint|journal_mode = DELETE/.exec(String(sql))?.[0]
  return what && `${what} ${name}`
}

replace(DatabaseSync.prototype, "exec", (original, database, [sql]) => {
  original(sql)
  const name = stepOf(database, sql)
  if (name !== undefined) step(name)
})
replace(DatabaseSync.prototype, "prepare", (original, database, [sql, ...rest]) => {
  const statement = original(sql, ...rest)
  const name = stepOf(database, sql)
  if (name !== undefined && statement instanceof StatementSync) statements.set(statement, name)
  return statement
})
for (const method of ["run", "get"])
  replace(StatementSync.prototype, method, (original, statement, values) => {
    const result = original(...values)
    const name = statement instanceof StatementSync ? statements.get(statement) : undefined
    if (name !== undefined) step(name)
    return result
  })

// PostgreSQL --------------------------------------------------------------------------------------

const { port } = new URL(process.env["TALLYSTICK_DATABASE_URL"] ?? "none:")
const changing = /\b(?:INSERT|UPDATE|DELETE|COMMIT)\b/i
/** The names of prepared statements that change something. */
const prepared = new Set<string>()

/** Of a message: a query in words, or one that was prepared under a name. */
function sentIn(bytes: Buffer): string | undefined {
  const kind = String.fromCodePoint(bytes[0] ?? 0)
  const [first = "", second = ""] = bytes.toString("latin1", 5).split("\0")
  if (kind === "P" && changing.test(second)) prepared.add(first)
  if (kind === "B" && prepared.has(second)) return second
  return kind === "Q" ? changing.exec(first)?.[0] : undefined
}

if (port !== "")
  replace(Socket.prototype, "write", (original, socket, values) => {
    const [bytes] = values
    const result = original(...values)
    if (socket instanceof Socket && String(socket.remotePort) === port && Buffer.isBuffer(bytes)) {
      const sent = sentIn(bytes)
      if (sent !== undefined) step(sent)
    }
    return result
  })
