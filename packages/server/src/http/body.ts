// Reads a request's body into memory, within its own limit and the limit for all bodies together.

import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import { LedgerError, usualError } from "../error.ts"
import type { Place } from "../ledger/admission.ts"
import type { Incoming } from "./incoming.ts"

export interface BodyRules {
  readonly mayBeAbsent: boolean
  readonly bytesMax: number
  readonly place: Pick<Place, "take"> | undefined
}

/** Represents an absent body. */
export const none: Buffer = Buffer.alloc(0)

/** Throws if the headers are refused. Most bodies have arrived and are returned at once. */
export function readBody(
  incoming: Pick<Incoming, "raw" | "askForBody">,
  { mayBeAbsent, bytesMax, place }: BodyRules,
): Buffer | Promise<Buffer> {
  const { raw } = incoming
  const length = raw.headers["content-length"]
  if ((length === undefined || length === "0") && raw.headers["transfer-encoding"] === undefined) {
    if (mayBeAbsent) return none
    throw new LedgerError("invalid_json", "the body is empty; it must be JSON")
  }
  checkMediaType(raw.headers)
  const bytes = length === undefined ? undefined : Number(length)
  if (bytes !== undefined && bytes > bytesMax)
    throw new LedgerError(
      "payload_too_large",
      `the body has ${length} bytes; at most ${bytesMax} are allowed`,
    )
  if (bytes !== undefined) place?.take(bytes)
  incoming.askForBody()
  const hasArrived = raw.readableLength === bytes && !raw.destroyed
  const body = hasArrived ? (raw.read(bytes) as Buffer | null) : null // the stream has no encoding
  if (body === null) return collect(raw, bytes, bytesMax, place)
  raw.resume() // only the end follows
  return body
}

function checkMediaType(headers: IncomingHttpHeaders): void {
  if (headers["content-encoding"] !== undefined)
    throw new LedgerError(
      "unsupported_media_type",
      "a body with a Content-Encoding is not accepted; send it uncompressed",
    )
  const given = headers["content-type"] ?? ""
  if (given === "application/json") return
  const [type = "", ...parameters] = given.toLowerCase().split(";")
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith("charset="))
  const readable =
    charset === undefined || charset === "charset=utf-8" || charset === 'charset="utf-8"'
  if (type.trim() !== "application/json" || !readable) throw usualError("unsupported_media_type")
}

/** `length` is the Content-Length. Without it, memory is reserved chunk by chunk. */
function collect(
  raw: IncomingMessage,
  length: number | undefined,
  bytesMax: number,
  place: BodyRules["place"],
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new Chunks(length)
    let open = true
    const settle = (act: () => void): void => {
      if (open) act()
      open = false
    }
    const add = (chunk: Buffer): void => {
      if (body.bytes + chunk.length > bytesMax)
        throw new LedgerError(
          "payload_too_large",
          `the body has more than the ${bytesMax} bytes that are allowed`,
        )
      if (length === undefined) place?.take(chunk.length)
      body.add(chunk)
    }
    raw.on("data", (chunk: Buffer) => {
      // After a refusal the rest is read and dropped: closing a connection with unread bytes resets
      // it, and the client may lose the answer.
      if (!open) return
      try {
        add(chunk)
      } catch (refusal) {
        settle(() => reject(refusal instanceof Error ? refusal : new Error(String(refusal))))
      }
    })
    raw.on("end", () => settle(() => resolve(body.all())))
    const cut = (): void =>
      settle(() =>
        reject(
          new LedgerError(
            "bad_request",
            "the connection was closed before the whole body had arrived",
          ),
        ),
      )
    raw.on("error", cut)
    raw.on("close", cut)
    if (raw.destroyed) cut()
  })
}

/**
 * Joins chunks into one buffer. A single chunk, the usual case, is not copied. Several chunks are
 * copied as they arrive, because tiny chunks take up a hundred times their size.
 */
class Chunks {
  readonly #length: number | undefined
  #first: Buffer | undefined
  #buffer: Buffer | undefined
  bytes = 0

  constructor(length: number | undefined) {
    this.#length = length
  }

  add(chunk: Buffer): void {
    if (this.bytes === 0) this.#first = chunk
    else this.#roomFor(this.bytes + chunk.length).set(chunk, this.bytes)
    this.bytes += chunk.length
  }

  all(): Buffer {
    return (this.#buffer ?? this.#first ?? none).subarray(0, this.bytes)
  }

  #roomFor(bytes: number): Buffer {
    const before = this.#buffer ?? this.#first ?? none
    if (this.#buffer !== undefined && before.length >= bytes) return before
    const buffer = Buffer.allocUnsafeSlow(this.#length ?? bytes * 2)
    buffer.set(before.subarray(0, this.bytes))
    this.#buffer = buffer
    this.#first = undefined
    return buffer
  }
}
