import { NonEmpty } from "./event.ts"
import { Type } from "./type.ts"

/** A person who is erased, held or given a link. Events bound neither ids nor types. */
export const PersonSubject = Type.Object(
  {
    id: NonEmpty,
    types: Type.Optional(Type.Array(NonEmpty, { minItems: 1, maxItems: 20, uniqueItems: true })),
  },
  { additionalProperties: false },
)

export const ShownPersonSubject = Type.Object({
  id: Type.String(),
  types: Type.Optional(Type.Array(Type.String())),
})
