import type * as wire from "@tallystick/client/wire"
import { answerOf } from "./wire-shape.ts"
import { listOf } from "./list.ts"
import { Type } from "./type.ts"

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
