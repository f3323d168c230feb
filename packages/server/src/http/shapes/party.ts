import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, shapeOf } from "./wire-shape.ts"
import { extensible, NonEmpty } from "./event.ts"

const text = Type.Optional(Type.String())

/** A member that may have any value, because the writer chose it. */
const own = Type.Optional(Type.Unsafe<string>({}))

// For answers. A member that the reader may not see is absent.
export const ShownActor = shapeOf<wire.Party>()(
  Type.Object(
    { id: Type.String(), type: text, email: text, name: own },
    { title: "Actor", ...extensible },
  ),
)
export const ShownTarget = shapeOf<wire.Party>()(
  Type.Object(
    { id: Type.String(), type: text, email: own, name: text },
    { title: "Target", ...extensible },
  ),
)

export const Provenance = answerOf<wire.Provenance>()("Provenance", {
  environment: text,
  server: text,
  requestId: text,
  sessionId: text,
  traceId: text,
  traceparent: text,
  keyId: text,
})

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
