import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf } from "./wire-shape.ts"
import { lastingFilters } from "./page.ts"
import { open } from "./enumeration.ts"
import { HoldId, Label, ReceiptId } from "./id.ts"
import { listOf } from "./list.ts"
import { exampleMaker, Maker } from "./member.ts"
import { PersonSubject, ShownPersonSubject } from "./party.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

const HoldFilter = requestOf<wire.HoldFilter>()("HoldFilter", lastingFilters)

const Reason = Type.String({ minLength: 1, maxLength: 1000, rule: "must be 1 to 1000 characters" })

export function newHoldOf(receiptsMax: number) {
  return requestOf<wire.NewHold>()(
    "NewHold",
    {
      name: Label,
      reason: Reason,
      filter: Type.Optional(HoldFilter),
      subject: Type.Optional(PersonSubject),
      receiptIds: Type.Optional(
        Type.Array(ReceiptId, { minItems: 1, maxItems: receiptsMax, uniqueItems: true }),
      ),
    },
    { name: "Case 7", reason: "Lawsuit", filter: { projectId: "core" } },
  )
}

export const HoldRelease = requestOf<wire.HoldRelease>()(
  "HoldRelease",
  { reason: Reason },
  { reason: "The case is closed" },
)

export const Hold = answerOf<wire.Hold>()(
  "Hold",
  {
    holdId: HoldId,
    name: Type.String(),
    reason: Type.String(),
    filter: Type.Optional(HoldFilter),
    subject: Type.Optional(ShownPersonSubject),
    receiptIds: Type.Optional(Type.Array(ReceiptId)),
    createdAt: Time,
    createdBy: Maker,
    state: open(["active", "released"]),
    releasedAt: Type.Optional(Time),
    releaseReason: Type.Optional(Type.String()),
  },
  {
    holdId: "hold_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
    name: "Case 7",
    reason: "Lawsuit",
    filter: { projectId: "core" },
    createdAt: sample.time,
    createdBy: exampleMaker,
    state: "active",
  },
)

export const HoldList = listOf<wire.HoldList>()("HoldList", "holds", Hold)
