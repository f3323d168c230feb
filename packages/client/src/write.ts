import { isObject, utf8 } from "@tallystick/proof"
import { jsonOf, type Call } from "./call.ts"
import type { CallOptions } from "./exchange.ts"
import type { Provenance, Receipt } from "./wire.ts"

/** Where a write comes from; it is kept with the entry. */
export type Context = Omit<Provenance, "keyId">

export interface WriteOptions extends CallOptions {
  /**
   * Makes repeating it safe, for ever: 12 to 255 characters. Give one that you make from what
   * happened (`order-4711-created`), or keep the one that you gave, if you must be able to repeat
   * the write after your own process has died. Absent: a new one for this call.
   */
  readonly idempotencyKey?: string
  /** Over that of the client. */
  readonly context?: Context
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
  { idempotencyKey = newKey(), context, ...options }: WriteOptions = {},
): Promise<Written> {
  const headers = { ...contextHeaders({ ...usual, ...context }), "idempotency-key": idempotencyKey }
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

export function contextHeaders({
  environment,
  server,
  requestId,
  sessionId,
  traceId,
  traceparent,
}: Context) {
  return {
    "x-service-environment": headerOf(environment),
    "x-service-server": headerOf(server),
    "x-request-id": headerOf(requestId),
    "x-session-id": headerOf(sessionId),
    "x-trace-id": headerOf(traceId),
    traceparent,
  }
}

/** fetch takes a header as characters that stand for bytes. The service reads these as UTF-8. */
function headerOf(text: string | undefined): string | undefined {
  return text && Array.from(utf8(text), (byte) => String.fromCharCode(byte)).join("")
}
