import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf } from "./wire-shape.ts"
import { open } from "./enumeration.ts"
import { sample } from "./sample.ts"

export const exampleMaker = { type: "member", id: sample.id, email: sample.email } as const

export const Maker = answerOf<wire.Maker>()(
  "Maker",
  {
    type: open(["instance", "api_key", "member"]),
    id: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
  },
  exampleMaker,
)
