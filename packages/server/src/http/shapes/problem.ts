import { Type } from "./type.ts"
import type { Problem as WireProblem } from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { statusOf } from "../../error.ts"
import { Receipt } from "./receipt.ts"

export const Problem = shapeOf<WireProblem>()(
  Type.Object(
    {
      error: Type.String({
        docs: {
          description: "What went wrong, for programs. A later version may add codes.",
          examples: Object.keys(statusOf),
        },
      }),
      detail: Type.String({
        docs: { description: "One sentence for people, which names the field and the rule." },
      }),
      receipt: Type.Optional(Receipt),
    },
    { title: "Problem" },
  ),
)
