import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf } from "./wire-shape.ts"
import { exampleEvent } from "./event.ts"
import { Hash, ReceiptId, ShownEventId } from "./id.ts"
import { lanes, open, storageClasses } from "./enumeration.ts"
import { Provenance, ShownActor, ShownTarget } from "./party.ts"
import { NamedPolicyVersion } from "./policy.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

export const exampleReceipt = {
  accepted: true,
  eventId: "evt_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  receipt: sample.receipt,
  eventHash: sample.hash,
  previousHash: sample.previousHash,
  timestamp: sample.time,
  actor: exampleEvent.actor,
  target: exampleEvent.target,
  lane: "operations",
  storageClass: "hot",
  verificationUrl: `${sample.url}/v1/workspaces/acme/receipts/${sample.receipt}`,
  queued: true,
  receivedAt: sample.time,
  provenance: { environment: "production", requestId: "req-4711", keyId: sample.id },
} as const satisfies wire.Receipt

export const Receipt = answerOf<wire.Receipt>()(
  "Receipt",
  {
    accepted: Type.Boolean(),
    eventId: ShownEventId,
    receipt: ReceiptId,
    eventHash: Hash,
    previousHash: Hash,
    timestamp: Time,
    actor: ShownActor,
    target: ShownTarget,
    lane: open(lanes),
    storageClass: open(storageClasses),
    verificationUrl: Type.String({ docs: { format: "uri" } }),
    queued: Type.Boolean(),
    receivedAt: Type.Optional(Type.Union([Time, Type.Null()])),
    provenance: Type.Optional(Provenance),
    policyVersion: Type.Optional(NamedPolicyVersion),
  },
  exampleReceipt,
)
