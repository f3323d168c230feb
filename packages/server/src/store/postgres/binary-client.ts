// A client that receives values in PostgreSQL's binary format. In the text format, bytes become
// twice as many hexadecimal digits, which the server formats and we parse. The library can request
// binary values, but decodes each as UTF-8, which corrupts them. So we parse rows ourselves, and
// the library's parser gets all other messages.
//
//   message = u8 type | u32 length, without the type | …
//   row = message "D" | u16 fields | field…
//   field = i32 length (-1: null) | bytes

import { EventEmitter } from "node:events"
import { Client, types, type ClientConfig } from "pg"

/** The part of the library's connection that its types leave out. */
interface Listening {
  attachListeners(stream: EventEmitter): void
}

export class BinaryClient extends Client {
  constructor(config?: ClientConfig) {
    // The option `binary` is missing in the library's types.
    const binary: ClientConfig = Object.assign({ binary: true }, config)
    super({ ...binary, types: { getTypeParser: readerOf } })
    const connection = this.connection as typeof this.connection & Listening
    const attach = connection.attachListeners.bind(connection)
    connection.attachListeners = (stream) => {
      const others = new EventEmitter()
      attach(others)
      stream.on("data", takeRows(connection, others))
    }
  }
}

const rowType = 0x44
const headBytes = 5

/**
 * Splits the stream: emits rows on the connection, and passes the bytes of all other messages to
 * `others`, in order.
 */
function takeRows(connection: EventEmitter, others: EventEmitter): (chunk: Buffer) => void {
  const waiting: Buffer[] = []
  let waitingBytes = 0
  /** The bytes that are needed to complete the current message. */
  let wantedBytes = headBytes
  return (chunk) => {
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes < wantedBytes) return
    const bytes = waiting.length === 1 ? chunk : Buffer.concat(waiting)
    let [at, othersFrom] = [0, 0]
    wantedBytes = headBytes
    while (bytes.length - at >= headBytes) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      wantedBytes = end - at
      if (end > bytes.length) break
      if (bytes[at] === rowType) {
        if (at > othersFrom) others.emit("data", bytes.subarray(othersFrom, at))
        othersFrom = end
        connection.emit("dataRow", { name: "dataRow", fields: fieldsOf(bytes, at, end) })
      }
      at = end
      wantedBytes = headBytes
    }
    if (at > othersFrom) others.emit("data", bytes.subarray(othersFrom, at))
    waiting.splice(0, waiting.length, bytes.subarray(at))
    waitingBytes = bytes.length - at
  }
}

/** Copied, so that a cached value does not keep the whole chunk in memory. */
function fieldsOf(bytes: Buffer, from: number, to: number): readonly (Buffer | null)[] {
  const row = Buffer.from(bytes.subarray(from + headBytes, to))
  const fields: (Buffer | null)[] = []
  for (let left = row.readUInt16BE(0), at = 2; left > 0; left--) {
    const length = row.readInt32BE(at)
    at += 4
    fields.push(length < 0 ? null : row.subarray(at, (at += Math.max(length, 0))))
  }
  return fields
}

type Reader = (bytes: Buffer) => unknown

const int8 = 20
const readers = new Map<number, Reader>([
  [16, (bytes) => bytes[0] === 1],
  [17, (bytes) => bytes],
  [19, textOf],
  // Sequences, sizes and times are far below 2^53.
  [int8, (bytes) => bytes.readInt32BE(0) * 2 ** 32 + bytes.readUInt32BE(4)],
  [23, (bytes) => bytes.readInt32BE(0)],
  [25, textOf],
])

/** Statements without parameters return text. */
function readerOf(type: number, format?: "text" | "binary"): Reader {
  if (format === "binary") return readers.get(type) ?? refuse(type)
  if (type === int8) return (bytes) => Number(bytes)
  // The library's own parser returns the value of this type.
  const parse = types.getTypeParser(type, "text") as (text: string) => unknown
  return (bytes) => parse(textOf(bytes))
}

function textOf(bytes: Buffer): string {
  return bytes.toString()
}

function refuse(type: number): never {
  throw new Error(`no column has type ${type}: the statement must cast it`)
}
