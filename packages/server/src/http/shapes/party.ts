import { Type } from "typebox"
import type { Party as WireParty, Provenance as WireProvenance } from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"

const text = Type.Optional(Type.String())

/** An actor or target in an answer: what is withheld from its reader is absent. */
export const Party = shapeOf<WireParty>()(Type.Object({ id: Type.String(), type: text, email: text, name: text }, { title: "Party" }))

export const Provenance = shapeOf<WireProvenance>()(
  Type.Object(
    { environment: text, server: text, requestId: text, sessionId: text, traceId: text, traceparent: text, keyId: text },
    { title: "Provenance" },
  ),
)
