import assert from "node:assert/strict"
import { connect } from "node:net"
import { headersOf, type AnswerHeaders } from "../service.ts"

// Sends bytes on a socket that no client library would send.

export interface RawReply {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: string
}

export interface RawExchange {
  /** Everything that came back. */
  readonly text: string
  readonly replies: readonly RawReply[]
}

/**
 * Sends bytes and reads until the service closes the connection; fails if it stays open and silent.
 * Parts are written one after the other.
 */
export function exchange(
  url: string,
  parts: string | readonly (string | Buffer)[],
  withinMs = 10_000,
): Promise<RawExchange> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    const chunks: Buffer[] = []
    socket.setTimeout(withinMs, () =>
      socket.destroy(new Error(`the connection stayed open: ${Buffer.concat(chunks).toString()}`)),
    )
    socket.on("connect", () => {
      for (const part of typeof parts === "string" ? [parts] : parts)
        socket.write(typeof part === "string" ? Buffer.from(part, "latin1") : part)
    })
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", reject)
    socket.on("close", () => {
      const text = Buffer.concat(chunks).toString("utf8")
      try {
        resolve({ text, replies: parseReplies(Buffer.concat(chunks)) })
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      }
    })
  })
}

/** A request's text; Host and the end of the connection are added unless given. */
export function request(
  url: string,
  line: string,
  headers: readonly string[] = [],
  body = "",
): string {
  const given = headers.map((header) => header.split(":", 1)[0]?.toLowerCase())
  const host = given.includes("host") ? [] : [`Host: ${new URL(url).host}`]
  const close = given.includes("connection") ? [] : ["Connection: close"]
  return `${[`${line} HTTP/1.1`, ...host, ...close, ...headers].join("\r\n")}\r\n\r\n${body}`
}

function parseReplies(bytes: Buffer): readonly RawReply[] {
  const replies: RawReply[] = []
  let rest = bytes
  while (rest.length > 0) {
    const end = rest.indexOf("\r\n\r\n")
    assert.ok(end > 0, `not an answer: ${rest.toString()}`)
    const [line = "", ...fields] = rest.toString("latin1", 0, end).split("\r\n")
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1])
    const headers = headersOf(
      fields.flatMap((field) => [
        field.slice(0, field.indexOf(":")),
        field.slice(field.indexOf(":") + 1).trim(),
      ]),
    )
    const length =
      status < 200 || status === 204 || status === 304 ? 0 : Number(headers.get("content-length"))
    replies.push({ status, headers, body: rest.toString("utf8", end + 4, end + 4 + length) })
    rest = rest.subarray(end + 4 + length)
  }
  return replies
}
