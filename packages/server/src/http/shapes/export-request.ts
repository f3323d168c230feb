import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { requestOf } from "./wire-shape.ts"

export const NewExport = requestOf<wire.NewExport>()(
  "NewExport",
  { entries: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) },
  { entries: 4711 },
)
