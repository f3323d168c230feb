import { Type } from "./type.ts"
import type { EntryFilter as WireEntryFilter } from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { lanes, storageClasses } from "./enumeration.ts"
import { ProjectFilter } from "./id.ts"
import { Search } from "./page.ts"
import { Time } from "./time.ts"

/** Without those by age, which changes. */
export const lastingFilters = {
  projectId: Type.Optional(Type.String({ ...ProjectFilter, default: undefined })),
  query: Type.Optional(Search),
  lane: Type.Optional(Type.Enum(["all", ...lanes])),
  userVisible: Type.Optional(Type.Boolean()),
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  includeSystem: Type.Optional(Type.Boolean()),
}

export const EntryFilter = shapeOf<WireEntryFilter>()(
  Type.Object(
    {
      ...lastingFilters,
      storage: Type.Optional(Type.Enum(["all", ...storageClasses])),
      includeArchive: Type.Optional(Type.Boolean()),
    },
    { title: "EntryFilter", additionalProperties: false },
  ),
)
