import { Type } from "./type.ts"
import type {
  EventsExport as WireEventsExport,
  NewEventsExport as WireNewEventsExport,
  NewExport as WireNewExport,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { EntryFilter } from "./entry-filter.ts"
import { ReceiptId } from "./id.ts"
import { sample } from "./sample.ts"

export const NewExport = shapeOf<WireNewExport>()(
  Type.Object(
    { entries: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) },
    { title: "NewExport", additionalProperties: false },
  ),
  { entries: 4711 },
)

export const NewEventsExport = shapeOf<WireNewEventsExport>()(
  Type.Object(
    { filter: EntryFilter, format: Type.Enum(["csv", "jsonl"]) },
    { title: "NewEventsExport", additionalProperties: false },
  ),
  { filter: { query: "lane:security" }, format: "csv" },
)

export const EventsExport = shapeOf<WireEventsExport>()(
  Type.Object({ entries: Type.Integer(), exportReceiptId: ReceiptId }, { title: "EventsExport" }),
  { entries: 412, exportReceiptId: sample.receipt },
)
