import { Type } from "./type.ts"
import type { NewExport as WireNewExport } from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"

export const NewExport = shapeOf<WireNewExport>()(
  Type.Object(
    { entries: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) },
    { title: "NewExport", additionalProperties: false },
  ),
  { entries: 4711 },
)
