import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf } from "./wire-shape.ts"
import { statusOf } from "../../error.ts"
import { Receipt } from "./receipt.ts"

export const Problem = answerOf<wire.Problem>()("Problem", {
  error: Type.String({
    docs: {
      description: "The error code, for programs. A later version may add codes.",
      examples: Object.keys(statusOf),
    },
  }),
  detail: Type.String({
    docs: { description: "One sentence for people, which names the field and the rule." },
  }),
  receipt: Type.Optional(Receipt),
})
