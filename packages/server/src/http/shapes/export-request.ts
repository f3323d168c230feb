import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf } from "./wire-shape.ts"
import { EntryFilter } from "./entry-filter.ts"
import { ReceiptId } from "./id.ts"
import { sample } from "./sample.ts"

export const NewExport = requestOf<wire.NewExport>()(
  "NewExport",
  { entries: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) },
  { entries: 4711 },
)

export const NewEventsExport = requestOf<wire.NewEventsExport>()(
  "NewEventsExport",
  { filter: EntryFilter, format: Type.Enum(["csv", "jsonl"]) },
  { filter: { query: "lane:security" }, format: "csv" },
)

export const EventsExport = answerOf<wire.EventsExport>()(
  "EventsExport",
  { entries: Type.Integer(), exportReceiptId: ReceiptId },
  { entries: 412, exportReceiptId: sample.receipt },
)
