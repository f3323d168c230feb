import { Type } from "./type.ts"
import type { Maker as WireMaker } from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { open } from "./enumeration.ts"
import { sample } from "./sample.ts"

export const Maker = shapeOf<WireMaker>()(
  Type.Object(
    {
      type: open(["instance", "api_key", "member"]),
      id: Type.Optional(Type.String()),
      name: Type.Optional(Type.String()),
      email: Type.Optional(Type.String()),
    },
    { title: "Maker" },
  ),
  { type: "member", id: sample.id, email: sample.email },
)

export const exampleMaker = { type: "member", id: sample.id, email: sample.email } as const
