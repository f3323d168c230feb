// `tallystick events export`: writes all entries of a filter into one file, and checks that it is
// complete.

import { createHash, type Hash } from "node:crypto"
import { createReadStream, existsSync, statSync } from "node:fs"
import { open, rename, rm, type FileHandle } from "node:fs/promises"
import { dirname } from "node:path"
import type { EntriesExport, ExportEnd, ListedEntry } from "@tallystick/client"
import type { ExportFormat } from "@tallystick/client/wire"
import { isJsonObject, parseJson } from "@tallystick/proof"
import { StartError } from "../error.ts"
import { syncPath } from "../runtime/durable-file.ts"
import type { Filter } from "./events-list-command.ts"
import { userServiceOf, type AskingTerminal } from "./service-calls.ts"
import { counted, type Terminal } from "./terminal.ts"

export interface ExportOptions {
  readonly format: ExportFormat
  /** The path of a file. Without it, standard output. */
  readonly output?: string
  readonly after: number
  readonly proof: boolean
  readonly resume: boolean
}

/** `broken`: an entry differs from what was recorded. Only JSON lines end with their number. */
const exitCodes = { good: 0, broken: 3 } as const

/** An export waits for its turn. It is requested only once, because each request is recorded. */
const patience = { attemptTimeoutMs: 60_000, retriesMax: 0 } as const

/** The lines of a file from an incomplete export. */
interface Lines {
  count: number
  broken: number
  /** The sequence of the last line. */
  last: number
  bytes: number
  readonly hash: Hash
}

type Write = (bytes: Uint8Array) => Promise<unknown>

export async function exportEvents(
  terminal: Terminal & AskingTerminal,
  workspaceId: string,
  filter: Filter,
  options: ExportOptions,
): Promise<number> {
  const { output, format, proof, resume } = options
  const { remark } = terminal
  refuseWrong(terminal, options)
  const before = { count: 0, broken: 0, last: options.after, bytes: 0, hash: createHash("sha256") }
  const isThere = output !== undefined && existsSync(output)
  if (isThere && !resume)
    throw new StartError(`${output} already exists; --resume continues an incomplete export`)
  if (isThere && (await readLines(output, before)) === "complete") {
    remark(`tallystick: ${output} is complete\n`)
    return before.broken > 0 ? exitCodes.broken : exitCodes.good
  }
  const { client, explain } = userServiceOf(terminal)
  const include = proof ? ({ include: "proof" } as const) : {}
  const asked = { ...filter, format, after: before.last, ...include }
  const failed = (error: unknown): never => {
    throw explain(error)
  }
  const started = await client.events.export(workspaceId, asked, patience).catch(failed)
  const write = async (to: Write): Promise<number> => {
    const copying =
      format === "jsonl"
        ? copyLines(terminal, started, before, to)
        : copyRows(terminal, started, format, to)
    const broken = await copying.catch(failed)
    if (broken > 0) {
      const entries = counted(broken, "entry", "entries")
      remark(`tallystick: ${entries} of it ${broken === 1 ? "is" : "are"} not what was recorded\n`)
    }
    return broken > 0 ? exitCodes.broken : exitCodes.good
  }
  if (output === undefined) return write((bytes) => terminal.write(bytes))
  return format === "jsonl" ? await grow(output, isThere, before, write) : await make(output, write)
}

/** Writes a file of JSON lines, whose last line says that it is complete. */
async function grow(
  output: string,
  isThere: boolean,
  before: Lines,
  write: (to: Write) => Promise<number>,
): Promise<number> {
  await using file = await open(output, isThere ? "a" : "ax", 0o600)
  // The last line may lack only its newline.
  if ((await file.stat()).size < before.bytes) await file.appendFile("\n")
  await file.truncate(before.bytes)
  return await filled(file, write)
}

/**
 * Writes a file of another format, which looks complete wherever it ends. So it gets its name last:
 * a kill leaves `<output>.part` behind, which the next run replaces.
 */
async function make(output: string, write: (to: Write) => Promise<number>): Promise<number> {
  const part = `${output}.part`
  try {
    await using file = await open(part, "w", 0o600)
    const code = await filled(file, write)
    if (existsSync(output)) throw new StartError(`another program has made ${output} meanwhile`)
    await rename(part, output)
    syncPath(dirname(output))
    return code
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

async function filled(file: FileHandle, write: (to: Write) => Promise<number>): Promise<number> {
  // Writes all of it or throws. A single write stores only a part if the disk has no more room.
  const code = await write((bytes) => file.appendFile(bytes))
  await file.sync()
  return code
}

function refuseWrong(
  { columns }: Pick<Terminal, "columns">,
  { output, format, proof, resume }: ExportOptions,
): void {
  if (resume && (output === undefined || format !== "jsonl"))
    throw new StartError("--resume needs --output, and --format jsonl")
  if (proof && format !== "jsonl") throw new StartError("--proof needs --format jsonl")
  if (output === undefined && columns !== undefined)
    throw new StartError("standard output is a terminal; name a file with --output")
}

/** Reads the lines up to one that was cut. Throws for a file that no export has begun. */
async function readLines(path: string, lines: Lines): Promise<"complete" | "cut"> {
  const file = createReadStream(path)
  const { size } = statSync(path)
  try {
    for await (const line of linesIn(file)) {
      const read = parsed(line.toString())
      const isLast = lines.bytes + line.length === size
      // A power cut may leave zeros in place of what was not synced.
      if (read === undefined && isLast && (line[0] === brace || line[0] === 0)) return "cut"
      // What follows is overwritten, so it must not be somebody's data.
      if (read === undefined)
        throw new StartError(
          `${path} is no incomplete export: line ${lines.count + 1} is not an entry`,
        )
      if ("end" in read) {
        const { count, sha256 } = read.end
        if (count !== lines.count || sha256 !== lines.hash.copy().digest("hex"))
          throw new StartError(
            `${path} was changed: its last line does not match the lines before it`,
          )
        return size === lines.bytes + line.length + 1 ? "complete" : "cut"
      }
      lines.hash.update(line).update("\n")
      lines.count += 1
      lines.bytes += line.length + 1
      lines.last = read.sequence
      if (read.integrity === "broken") lines.broken += 1
    }
    return "cut"
  } finally {
    file.destroy()
  }
}

/** Lines without their newline, which the last one may lack. */
async function* linesIn(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const some of file) {
    const all = Buffer.concat([rest, some])
    let start = 0
    for (let end: number; (end = all.indexOf(newline, start)) >= 0; start = end + 1)
      yield all.subarray(start, end)
    rest = all.subarray(start)
  }
  if (rest.length > 0) yield rest
}

/** Undefined for any other text. */
function parsed(line: string): ListedEntry | ExportEnd | undefined {
  const value = parseJson(line)
  const isOne =
    isJsonObject(value) && (isJsonObject(value["end"]) || typeof value["sequence"] === "number")
  return isOne ? (value as unknown as ListedEntry | ExportEnd) : undefined // the service writes no others
}

/** Appends the new lines to the file, and a last line that counts all lines. */
async function copyLines(
  { progress }: Terminal,
  { bytes, sequence }: EntriesExport,
  before: Lines,
  write: Write,
): Promise<number> {
  const arrived = createHash("sha256")
  const { hash } = before
  let [count, size] = [0, 0]
  // The last line is checked before it is written, so it is held back.
  let rest = Buffer.alloc(0)
  for await (const some of bytes) {
    const all = Buffer.concat([rest, some])
    const end = all.at(-1) === newline ? all.lastIndexOf(newline, -2) : all.lastIndexOf(newline)
    const lines = all.subarray(0, end + 1)
    rest = all.subarray(end + 1)
    if (lines.length === 0) continue
    for (let at = lines.indexOf(newline); at >= 0; at = lines.indexOf(newline, at + 1)) count += 1
    arrived.update(lines)
    hash.update(lines)
    size += lines.length
    progress(`${before.count + count} entries, ${megabytes(size)}`)
    await write(lines)
  }
  const last = parsed(rest.toString("utf8"))
  if (last === undefined || !("end" in last) || last.end.count !== count)
    throw new StartError("the export was cut short; run the command again with --resume")
  if (last.end.sha256 !== arrived.digest("hex"))
    throw new StartError("the file differs from what the service has sent")
  const broken = before.broken + last.end.broken
  const end = { count: before.count + count, broken, sequence, sha256: hash.digest("hex") }
  await write(Buffer.from(`${JSON.stringify({ end } satisfies ExportEnd)}\n`))
  return broken
}

/** The length of the footer and the letters that follow it: a file of the first letters alone is short. */
const parquetEndBytes = 8

/** Nothing says whether a CSV file is complete. Returns how many rows are known to be broken: none. */
async function copyRows(
  { progress }: Terminal,
  { bytes }: EntriesExport,
  format: "csv" | "parquet",
  write: Write,
): Promise<number> {
  let size = 0
  let end = Buffer.alloc(0)
  for await (const some of bytes) {
    size += some.length
    progress(megabytes(size))
    end = Buffer.concat([end, some.subarray(-parquetEndBytes)]).subarray(-parquetEndBytes)
    await write(some)
  }
  if (format === "parquet" && (size <= parquetEndBytes || end.toString("latin1", 4) !== "PAR1"))
    throw new StartError("the export was cut short; run the command again")
  return 0
}

const newline = 10
const brace = 0x7b

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
