import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { LedgerError } from "../../error.ts"
import { checkOf } from "./check.ts"
import { answerOf, requestOf } from "./wire-shape.ts"
import { contextHeaders, eventFields, exampleEvent } from "./event.ts"
import { IdempotencyKey } from "./id.ts"
import { Problem } from "./problem.ts"
import { exampleReceipt, Receipt } from "./receipt.ts"

const BatchItem = requestOf<wire.BatchItem>()("BatchItem", {
  idempotencyKey: IdempotencyKey,
  ...eventFields,
})

/** The shape in the API's description. */
export function batchOf(eventsMax: number) {
  return requestOf<wire.Batch>()(
    "Batch",
    { events: Type.Array(BatchItem, { minItems: 1, maxItems: eventsMax }) },
    { events: [{ idempotencyKey: "invoice-9-approved", ...exampleEvent }] },
  )
}

/**
 * Checks the batch as a whole. The items are checked one by one later, because an invalid one must
 * not affect the others.
 */
export function batchEnvelopeOf(eventsMax: number) {
  const events = Type.Array(Type.Unknown(), { minItems: 1, maxItems: eventsMax })
  return Type.Object({ events }, { title: "Batch", additionalProperties: false })
}

export const BatchHeaders = Type.Object({
  "idempotency-key": Type.Optional(
    Type.Never({ rule: "must not be sent with a batch: each of its events has a key of its own" }),
  ),
  ...contextHeaders,
})

export const BatchAnswer = answerOf<wire.BatchAnswer>()(
  "BatchAnswer",
  {
    results: Type.Array(
      Type.Union([
        Type.Object({ receipt: Receipt, replayed: Type.Optional(Type.Boolean()) }),
        Problem,
      ]),
    ),
  },
  { results: [{ receipt: exampleReceipt }] },
)

const checkShape = checkOf(BatchItem)

/**
 * Returns an event with its key. Throws for anything else, and for an event that was not parsed.
 * `index` is its position in the batch.
 */
export function checkItem(value: unknown, index: number): wire.BatchItem {
  if (value instanceof LedgerError) throw value
  return checkShape(value, ["events", index])
}
