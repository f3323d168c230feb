import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { queryOf } from "./wire-shape.ts"

/** The parameters of every list; some have more. */
export const listFields = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, rule: "must be the nextCursor of another page" }),
  ),
}

export const ListQuery = queryOf<wire.ListQuery>()(listFields)

/** For a list's answer: where its next page begins. */
export const NextCursor = Type.Union([Type.String(), Type.Null()])
