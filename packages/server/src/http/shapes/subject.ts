import { Type } from "./type.ts"

const text = Type.String({ minLength: 1 })

/** A person who is erased, held or given a link. Events bound neither ids nor types. */
export const PersonSubject = Type.Object(
  {
    id: text,
    types: Type.Optional(Type.Array(text, { minItems: 1, maxItems: 20, uniqueItems: true })),
  },
  { additionalProperties: false },
)

export const ShownPersonSubject = Type.Object({
  id: Type.String(),
  types: Type.Optional(Type.Array(Type.String())),
})
