import { isObject, utf8 } from "@tallystick/proof"
import { invalidRequest } from "./error.ts"
import { objectOf, type Optional } from "./given.ts"
import { jsonOf, type Call } from "./call.ts"
import type { CallOptions } from "./exchange.ts"
import type { Provenance, Receipt } from "./wire.ts"

/** Where a write comes from; it is kept with the entry. */
export type Context = Optional<Omit<Provenance, "keyId">>

export interface WriteOptions extends CallOptions {
  /**
   * Makes repeating it safe, for ever: 12 to 255 characters. Give one that you make from what
   * happened (`order-4711-created`), or keep the one that you gave, if you must be able to repeat
   * the write after your own process has died. Absent: a new one for this call.
   */
  readonly idempotencyKey?: string | undefined
  /** Its members replace those of the client's. */
  readonly context?: Context | undefined
}

/** What was recorded. */
export interface Written {
  readonly receipt: Receipt
  /** The key had been used before by the same request, whose receipt this is. */
  readonly replayed: boolean
  readonly idempotencyKey: string
}

/** What writes have in common. */
export interface Writing {
  readonly newKey: () => string
  readonly context: Context
}

export async function writeOne<Answer>(
  { exchange }: Call,
  { newKey, context: usual }: Writing,
  path: string,
  body: object,
  receiptOf: (answer: Answer) => Receipt,
  given: WriteOptions | undefined,
): Promise<Written> {
  const { idempotencyKey = newKey(), context, ...options } = objectOf(given, "options")
  const headers = { ...contextHeaders(usual, context), "idempotency-key": idempotencyKey }
  const read = async (response: Response): Promise<Written> => ({
    receipt: receiptOf(await jsonOf<Answer>(response, (answer) => isReceipt(receiptOf(answer)))),
    replayed: response.headers.get("idempotency-replayed") === "true",
    idempotencyKey,
  })
  return await exchange(
    { method: "POST", path, headers, body, isRepeatable: true, idempotencyKey },
    read,
    options,
  )
}

/** An answer without one may come from another program, which recorded nothing. */
export function isReceipt(value: unknown): boolean {
  return isObject(value) && typeof value["receipt"] === "string"
}

const contextNames: Readonly<Record<string, string>> = {
  environment: "x-service-environment",
  server: "x-service-server",
  requestId: "x-request-id",
  sessionId: "x-session-id",
  traceId: "x-trace-id",
  traceparent: "traceparent",
} satisfies Record<keyof Context, string>

/** The headers of contexts; a later one's members replace those of an earlier one. */
export function contextHeaders(
  ...contexts: readonly (Context | undefined)[]
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const [name, value] of contexts.flatMap((one) => Object.entries(objectOf(one, "context")))) {
    const header = Object.hasOwn(contextNames, name) ? contextNames[name] : undefined
    if (header === undefined) throw invalidRequest(`${name} is no member of a context`)
    if (value !== undefined && typeof value !== "string")
      throw invalidRequest(`context.${name} must be a string`)
    if (value !== undefined) headers[header] = headerOf(value)
  }
  return headers
}

/** fetch takes a header as characters that stand for bytes. The service reads these as UTF-8. */
function headerOf(text: string): string {
  return Array.from(utf8(text), (byte) => String.fromCharCode(byte)).join("")
}
