import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { requestOf, shapeOf } from "./wire-shape.ts"
import { IdempotencyKey, ProjectId, ReceiptId, WorkspaceId } from "./id.ts"
import { sources } from "./enumeration.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

export const NonEmpty = Type.String({ minLength: 1 })

export const Action = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: "^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)+$",
  rule: "must be a dotted name of two segments or more, each of letters, digits, _ and -, and of 200 characters at most",
  docs: { examples: ["billing.invoice.approve"] },
})

/** The writer may add members of its own. */
export const extensible = { additionalProperties: true }

const Actor = shapeOf<wire.Actor>()(
  Type.Object({ id: NonEmpty, type: NonEmpty, email: Type.Optional(Type.String()) }, extensible),
)
const Target = shapeOf<wire.Target>()(
  Type.Object({ id: NonEmpty, type: NonEmpty, name: Type.Optional(Type.String()) }, extensible),
)

export const RelatedReceiptIds = Type.Array(ReceiptId)
const Metadata = shapeOf<wire.Metadata>()(
  Type.Object({ relatedReceiptIds: Type.Optional(RelatedReceiptIds) }, extensible),
)

/** The fields of an event that have the same shape in an entry. */
export const repeatedShapes = {
  occurredAt: Time,
}

/** The members of an event, also in a batch. */
export const eventFields = {
  workspaceId: WorkspaceId,
  projectId: ProjectId,
  action: Action,
  actor: Actor,
  target: Target,
  ...repeatedShapes,
  source: Type.Enum(sources),
  metadata: Type.Optional(Metadata),
  userVisible: Type.Optional(Type.Boolean()),
}

export const exampleEvent = {
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor: { id: "usr_1", type: "user", email: sample.email },
  target: { id: "inv_9", type: "invoice", name: "Invoice 9" },
  occurredAt: "2026-01-31T09:30:00Z",
  source: "api",
  metadata: { amount: 1299.5, currency: "EUR" },
  userVisible: true,
} as const satisfies Required<wire.AuditEvent>

export const Event = requestOf<wire.AuditEvent>()("AuditEvent", eventFields, exampleEvent)

const keptAs = (member: string) =>
  Type.Optional(Type.String({ docs: { description: `Kept as \`provenance.${member}\`.` } }))

/** Headers about the origin of a write. They become the provenance of the entry. */
export const contextHeaders = {
  "x-service-environment": keptAs("environment"),
  "x-service-server": keptAs("server"),
  "x-request-id": keptAs("requestId"),
  "x-session-id": keptAs("sessionId"),
  "x-trace-id": keptAs("traceId"),
  // A malformed header is ignored, not refused: a proxy may have made it.
  traceparent: Type.Optional(
    Type.String({
      docs: {
        description: "W3C Trace Context, version 00. One that is malformed is ignored.",
        examples: ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
      },
    }),
  ),
}

/** The headers of a write. Its key makes it safe to repeat. */
export const WriteHeaders = Type.Object({ "idempotency-key": IdempotencyKey, ...contextHeaders })
