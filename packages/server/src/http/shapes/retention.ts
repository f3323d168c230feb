import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf } from "./wire-shape.ts"
import { lanes, open } from "./enumeration.ts"
import { RetentionRules } from "./workspace.ts"
import { listOf } from "./list.ts"

export const RetentionPreviewRequest = requestOf<wire.RetentionPreviewRequest>()(
  "RetentionPreviewRequest",
  { retention: Type.Optional(RetentionRules) },
  { retention: [{ lane: "operations", days: 400 }] },
)

const Count = Type.Integer({ minimum: 0 })
const count = { entries: Count, bytes: Count }

export const RetentionPreview = answerOf<wire.RetentionPreview>()(
  "RetentionPreview",
  {
    ...count,
    held: Count,
    rules: Type.Array(Type.Object({ rule: Count, ...count })),
    lanes: Type.Array(Type.Object({ lane: open(lanes), ...count })),
    projects: Type.Array(Type.Object({ projectId: Type.String(), ...count })),
    months: Type.Array(Type.Object({ month: Type.String(), ...count })),
    token: Type.String(),
  },
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

export const RetentionCounting = answerOf<wire.RetentionCounting>()(
  "RetentionCounting",
  { counted: Count, of: Count },
  { counted: 250_000, of: 1_000_000 },
)

export const RetentionRun = answerOf<wire.RetentionRun>()(
  "RetentionRun",
  { isRunning: Type.Boolean(), entries: Count, held: Count },
  { isRunning: false, entries: 2, held: 0 },
)

const [ledgerId, sha256] = ["ad59".repeat(16), "4da7".repeat(16)]

const ArchiveSegment = answerOf<wire.ArchiveSegment>()(
  "ArchiveSegment",
  {
    ledgerId: Type.String(),
    firstSequence: Type.Integer(),
    lastSequence: Type.Integer(),
    file: Type.String(),
    bytes: Type.Integer(),
    sha256: Type.String(),
    textBytes: Type.Integer(),
  },
  {
    ledgerId,
    firstSequence: 1,
    lastSequence: 16_384,
    file: `${ledgerId}/000000000000-${sha256}.jsonl.zst`,
    bytes: 3_604_480,
    sha256,
    textBytes: 9_830_400,
  },
)

export const ArchiveSegmentList = listOf<wire.ArchiveSegmentList>()(
  "ArchiveSegmentList",
  "segments",
  ArchiveSegment,
)
