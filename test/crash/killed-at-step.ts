// Loaded before a program, this kills it at one of its steps: that step is done, and nothing after
// it. A step is a commit, a checkpoint of a log, or a change of a file or its name, in any thread;
// with PostgreSQL, a change that was sent. The first line of the file in STEPS says which is the last
// step (last-step.ts), and each step adds a line. Without that file nothing is counted.

import files from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { Socket } from "node:net"
import { basename } from "node:path"
import sqlite from "node:sqlite"
import { isLastReached } from "./last-step.ts"

type Call = (...values: readonly unknown[]) => unknown

const path = process.env["STEPS"] ?? ""
const { appendFileSync, existsSync, readFileSync } = files

function step(name: string): void {
  if (!existsSync(path)) return
  appendFileSync(path, `${name}\n`)
  if (isLastReached(readFileSync(path, "utf8"))) process.kill(process.pid, "SIGKILL")
}

/** `act` calls the original method and adds to it. */
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

/** Undefined if it changes no file. The index is derived from the journal, so it does not count. */
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

const port = Number(URL.parse(process.env["TALLYSTICK_DATABASE_URL"] ?? "")?.port)
/** What a connection has sent so far. A statement may come in pieces, each of several messages. */
interface Sent {
  readonly prepared: Map<string, string>
  isWithin: boolean
  step: string | undefined
}
const connections = new WeakMap<object, Sent>()

/** Undefined if it changes nothing that a test checks. */
function changeOf(sql: string): string | undefined {
  if (sql.startsWith("COMMIT")) return "COMMIT"
  const changed = /^(?:INSERT INTO|UPDATE|DELETE FROM) (?:tallystick\.)?(\w+)|\bappend\w*/.exec(sql)
  const [what, table = what] = changed ?? []
  return table === undefined || /lease|head|growth|used|uses/.test(table) ? undefined : table
}

/** A message is a letter, its length, and its content. The first of a connection has no letter. */
function look(sent: Sent, bytes: Buffer): void {
  for (
    let at = 0;
    at + 5 <= bytes.length && bytes[at] !== 0;
    at += 1 + bytes.readUInt32BE(at + 1)
  ) {
    const content = bytes.subarray(at + 5, at + 1 + bytes.readUInt32BE(at + 1)).toString("latin1")
    const [first = "", second = ""] = content.split("\0")
    const kind = String.fromCharCode(bytes[at] ?? 0)
    if (kind === "P") sent.prepared.set(first, second)
    const sql = kind === "Q" ? first : kind === "B" ? (sent.prepared.get(second) ?? "") : undefined
    if (sql === undefined) continue
    if (/^(BEGIN|COMMIT|ROLLBACK)/.test(sql)) sent.isWithin = sql.startsWith("BEGIN")
    if (!sent.isWithin) sent.step = changeOf(sql.trim()) ?? sent.step
  }
}

replace(Socket.prototype, "write", (original, socket, [bytes, ...rest]) => {
  if (!(socket instanceof Socket) || socket.remotePort !== port || !Buffer.isBuffer(bytes))
    return original(bytes, ...rest)
  const sent = connections.get(socket) ?? { prepared: new Map(), isWithin: false, step: undefined }
  connections.set(socket, sent)
  look(sent, bytes)
  const { step: name } = sent
  // A simple query, or the last message of an extended one: all of it is sent.
  const isEnd = bytes[0] === 0x51 || bytes.at(-5) === 0x53
  if (name === undefined || !isEnd) return original(bytes, ...rest)
  sent.step = undefined
  return original(bytes, () => step(name))
})
