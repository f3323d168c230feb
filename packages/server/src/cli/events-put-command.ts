// `tallystick events put`: records one event from options, or many from JSON, and prints their
// receipts.

import { hash } from "node:crypto"
import { open, type FileHandle } from "node:fs/promises"
import {
  TallystickError,
  type AuditEvent,
  type BatchEvent,
  type BatchOutcome,
  type Client,
  type Limits,
  type Problem,
} from "@tallystick/client"
import { assert, canonicalize, printable, printableJson, type JsonObject } from "@tallystick/proof"
import { StartError } from "../error.ts"
import { readInput, type InputLine } from "./event-input.ts"
import { eventOf, fieldsOf, type EventFields, type EventOptions } from "./event-options.ts"
import {
  patience,
  requireAnswer,
  userServiceOf,
  type AskingTerminal,
  type UserService,
} from "./service-calls.ts"
import { counted, type Terminal } from "./terminal.ts"

export interface PutOptions extends EventOptions {
  readonly idempotencyKey?: string
  readonly json: boolean
}

/** `unknown`: it may be recorded; the same command again records it once. */
const exitCodes = { recorded: 0, refused: 1, unknown: 2 } as const

type PutTerminal = Terminal & AskingTerminal

/** Reads JSON from the file, or from standard input for `-` and if no option describes an event. */
export async function putEvents(
  terminal: PutTerminal,
  workspaceId: string,
  file: string | undefined,
  { idempotencyKey, json, ...options }: PutOptions,
): Promise<number> {
  const fields = fieldsOf(options)
  const service = userServiceOf(terminal, { isPatient: true })
  if (file === undefined && (fields.action ?? fields.actor ?? fields.target) !== undefined) {
    const event = eventOf(workspaceId, fields)
    // An event without a time occurs now, so it is a new event each time.
    const made = options.occurredAt === undefined ? undefined : contentKey(event)
    return await putOne(terminal, service, event, idempotencyKey ?? made, json)
  }
  if (idempotencyKey !== undefined)
    throw new StartError(
      "--idempotency-key is for one event by options; JSON has it as the member idempotencyKey",
    )
  if (file === undefined && terminal.input.isTerminal)
    throw new StartError(
      "nothing to record: give --action, --actor and --target, or JSON in a file or on standard input (--help says more)",
    )
  // An import must not stop halfway because the reader of its output, such as `head`, has ended.
  terminal.outliveReader()
  const input =
    file === undefined || file === "-"
      ? terminal.input.read()
      : (await openedFile(file)).createReadStream({ highWaterMark })
  return await putMany(terminal, service, input, { workspaceId, fields, json })
}

/** The error of reading a folder would not name the folder. */
async function openedFile(path: string): Promise<FileHandle> {
  const file = await open(path)
  if (!(await file.stat()).isDirectory()) return file
  await file.close()
  throw new StartError(`${path} is a folder, and no file of JSON lines`)
}

/** About a batch of ordinary events. */
const highWaterMark = 512 * 1024

/** The same content has the same key, so it is recorded once, however often the command is run. */
function contentKey(event: object): string {
  // Its members are JSON: they were parsed, or are options.
  return `sha256-${hash("sha256", canonicalize(event as JsonObject))}`
}

async function putOne(
  { say, remark }: PutTerminal,
  { client, explain }: UserService,
  event: AuditEvent,
  idempotencyKey: string | undefined,
  json: boolean,
): Promise<number> {
  try {
    const written = await client.events.write(
      event,
      idempotencyKey === undefined ? {} : { idempotencyKey },
    )
    say(json ? `${printableJson(written)}\n` : `${printable(written.receipt.receipt)}\n`)
    if (written.replayed) remark("tallystick: it was recorded before; this is its receipt\n")
    return exitCodes.recorded
  } catch (error) {
    const explained = explain(error)
    if (!isUnknown(error)) throw explained
    const again = `--idempotency-key ${error.idempotencyKey} --occurred-at ${event.occurredAt}`
    remark(
      `tallystick: it may have been recorded: ${explained.message}. To repeat it without recording it twice, add ${again}\n`,
    )
    return exitCodes.unknown
  }
}

function isUnknown(error: unknown): error is TallystickError {
  return error instanceof TallystickError && error.outcome === "unknown"
}

// Many --------------------------------------------------------------------------------------------

interface Many {
  readonly workspaceId: string
  readonly fields: EventFields
  readonly json: boolean
}

interface Counts {
  recorded: number
  replayed: number
  refused: number
}

async function putMany(
  terminal: PutTerminal,
  { client, ask, explain }: UserService,
  input: AsyncIterable<Uint8Array>,
  many: Many,
): Promise<number> {
  const { remark, progress } = terminal
  const counts: Counts = { recorded: 0, replayed: 0, refused: 0 }
  let failed: number | undefined
  const limits = await ask(({ service }) => service.limits())
  requireAnswer(typeof limits.batchEventsMax === "number")
  for await (const lines of batchesOf(input, limits)) {
    try {
      const results = await putBatch(client, lines, many)
      show(terminal, results, many.json, counts)
      progress(counted(counts.recorded + counts.replayed, "event"))
    } catch (error) {
      remark(`tallystick: ${fateOf(lines, error)}: ${explain(error).message}. ${again}\n`)
      failed = isUnknown(error) ? exitCodes.unknown : exitCodes.refused
      break
    }
  }
  const { recorded, replayed, refused } = counts
  const before = replayed === 0 ? "" : `, ${replayed} recorded before`
  const not = refused === 0 ? "" : `, ${refused} refused`
  remark(`tallystick: ${counted(recorded, "event")} recorded${before}${not}\n`)
  return failed ?? (refused > 0 ? exitCodes.refused : exitCodes.recorded)
}

const again = "You can run the command again: what is recorded will not be recorded twice"

/** A sentence about the outcome of these lines and of those after them. */
function fateOf(lines: readonly InputLine[], error: unknown): string {
  const [first, last] = [lines[0]?.line, lines.at(-1)?.line]
  if (!isUnknown(error)) return `from line ${first} on nothing is recorded`
  return `lines ${first} to ${last} may be recorded, and none after them is`
}

/** Batches of the lines that have arrived, up to the limits of a batch. */
async function* batchesOf(
  input: AsyncIterable<Uint8Array>,
  limits: Limits,
): AsyncGenerator<readonly InputLine[], void, undefined> {
  // A number may take more bytes in the request than in the input.
  const bytesMax = limits.batchBytesMax / 2
  for await (const lines of readInput(input, limits)) {
    let batch: InputLine[] = []
    let bytes = 0
    for (const line of lines) {
      if (batch.length === limits.batchEventsMax || bytes + line.bytes > bytesMax) {
        yield batch
        batch = []
        bytes = 0
      }
      batch.push(line)
      bytes += line.bytes
    }
    if (batch.length > 0) yield batch
  }
}

type Result = { readonly line: number } & (BatchOutcome | Problem)

/** The results of the lines, in their order. */
async function putBatch(
  client: Client,
  lines: readonly InputLine[],
  many: Many,
): Promise<readonly Result[]> {
  const items = lines.map((line) => itemOf(line, many))
  const events = items.flatMap(({ event }) => event ?? [])
  const outcomes = events.length === 0 ? [] : await client.events.writeBatch(events, patience)
  const next = outcomes.values()
  return items.map(({ line, problem }): Result => {
    if (problem !== undefined) return { line, ...problem }
    const { value: outcome } = next.next()
    assert(outcome !== undefined, "each event of a batch has an outcome")
    if (!("error" in outcome)) return { line, ...outcome }
    // The user counts lines, so remove the place in the batch from the message.
    return { line, ...outcome, detail: outcome.detail.replace(/^events\[\d+\][. ]/, "") }
  })
}

interface Item {
  readonly line: number
  readonly event?: BatchEvent
  readonly problem?: Problem
}

function itemOf(read: InputLine, { workspaceId, fields }: Many): Item {
  const { line } = read
  if ("problem" in read) return { line, problem: read.problem }
  const event = { workspaceId, ...fields, ...read.event }
  if (event.workspaceId !== workspaceId) {
    const detail = `its workspaceId is not ${workspaceId}`
    return { line, problem: { error: "invalid_field", detail } }
  }
  // It may have any value, because the service checks it.
  const keyed = "idempotencyKey" in event ? event : { ...event, idempotencyKey: contentKey(event) }
  return { line, event: keyed as unknown as BatchEvent }
}

function show(
  { say, remark }: PutTerminal,
  results: readonly Result[],
  json: boolean,
  counts: Counts,
): void {
  for (const result of results) {
    if (json) say(`${printableJson(result)}\n`)
    if ("error" in result) {
      counts.refused += 1
      remark(`tallystick: line ${result.line} is not recorded: ${printable(result.detail)}\n`)
    } else {
      counts[result.replayed === true ? "replayed" : "recorded"] += 1
      if (!json) say(`${printable(result.receipt.receipt)}\n`)
    }
  }
}
