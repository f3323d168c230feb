import { Type } from "./type.ts"
import type { Receipt as WireReceipt } from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { EventId, Hash, ReceiptId } from "./id.ts"
import { lanes, open, storageClasses } from "./enumeration.ts"
import { Provenance, ShownActor, ShownTarget } from "./party.ts"
import { NamedPolicyVersion } from "./policy-version.ts"
import { Time } from "./time.ts"

export const Receipt = shapeOf<WireReceipt>()(
  Type.Object(
    {
      accepted: Type.Boolean(),
      eventId: EventId,
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
    { title: "Receipt" },
  ),
)
