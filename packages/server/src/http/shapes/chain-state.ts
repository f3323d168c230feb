import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf } from "./wire-shape.ts"
import { WorkspaceId } from "./id.ts"
import { sample } from "./sample.ts"
import { Time } from "./time.ts"

const count = Type.Integer({ minimum: 0 })
const sequence = Type.Integer({ minimum: 1 })

export const ChainState = answerOf<wire.ChainState>()(
  "ChainState",
  {
    workspaceId: WorkspaceId,
    size: count,
    checkpoint: Type.Optional(
      Type.Object({ sequence, size: sequence, signedAt: Time, vkey: Type.String() }),
    ),
    pending: count,
    archived: count,
    checked: Type.Array(
      Type.Object({
        from: sequence,
        to: sequence,
        checkedAt: Time,
      }),
    ),
    checking: Type.Boolean(),
    faults: Type.Array(Type.Object({ sequence, detail: Type.String(), foundAt: Time })),
  },
  {
    workspaceId: "acme",
    size: 88_310,
    checkpoint: { sequence: 88_064, size: 88_064, signedAt: sample.time, vkey: sample.vkey },
    pending: 246,
    archived: 43_008,
    checked: [
      { from: 1, to: 51_200, checkedAt: sample.time },
      { from: 51_201, to: 87_950, checkedAt: "2026-01-31T06:30:00.250Z" },
    ],
    checking: true,
    faults: [],
  },
)
