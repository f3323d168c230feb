import { Type } from "./type.ts"
import type {
  RetentionCounting as WireRetentionCounting,
  RetentionPreview as WireRetentionPreview,
  RetentionPreviewRequest as WireRetentionPreviewRequest,
  RetentionRun as WireRetentionRun,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { lanes, open } from "./enumeration.ts"
import { RetentionRules } from "./workspace.ts"

export const RetentionPreviewRequest = shapeOf<WireRetentionPreviewRequest>()(
  Type.Object(
    { retention: Type.Optional(RetentionRules) },
    { title: "RetentionPreviewRequest", additionalProperties: false },
  ),
  { retention: [{ lane: "operations", days: 400 }] },
)

const Count = Type.Integer({ minimum: 0 })
const count = { entries: Count, bytes: Count }

export const RetentionPreview = shapeOf<WireRetentionPreview>()(
  Type.Object(
    {
      ...count,
      held: Count,
      rules: Type.Array(Type.Object({ rule: Count, ...count })),
      lanes: Type.Array(Type.Object({ lane: open(lanes), ...count })),
      projects: Type.Array(Type.Object({ projectId: Type.String(), ...count })),
      months: Type.Array(Type.Object({ month: Type.String(), ...count })),
      token: Type.String(),
    },
    { title: "RetentionPreview" },
  ),
  {
    entries: 2,
    bytes: 900,
    held: 0,
    rules: [{ rule: 0, entries: 2, bytes: 900 }],
    lanes: [{ lane: "operations", entries: 2, bytes: 900 }],
    projects: [{ projectId: "core", entries: 2, bytes: 900 }],
    months: [{ month: "2026-01", entries: 2, bytes: 900 }],
    token: "kG3v0cX1m4mZ0nq1",
  },
)

export const RetentionCounting = shapeOf<WireRetentionCounting>()(
  Type.Object({ counted: Count, of: Count }, { title: "RetentionCounting" }),
  { counted: 250_000, of: 1_000_000 },
)

export const RetentionRun = shapeOf<WireRetentionRun>()(
  Type.Object(
    { isRunning: Type.Boolean(), entries: Count, held: Count },
    { title: "RetentionRun" },
  ),
  { isRunning: false, entries: 2, held: 0 },
)
