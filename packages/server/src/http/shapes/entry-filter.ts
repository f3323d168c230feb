import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { requestOf } from "./wire-shape.ts"
import { lanes, storageClasses } from "./enumeration.ts"
import { ProjectFilter } from "./id.ts"
import { Search } from "./page.ts"
import { Time } from "./time.ts"

/** All filters but those by age, because an entry's age changes. */
export const lastingFilters = {
  projectId: Type.Optional(Type.String({ ...ProjectFilter, default: undefined })),
  query: Type.Optional(Search),
  lane: Type.Optional(Type.Enum(["all", ...lanes])),
  userVisible: Type.Optional(Type.Boolean()),
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  includeSystem: Type.Optional(Type.Boolean()),
}

export const EntryFilter = requestOf<wire.EntryFilter>()("EntryFilter", {
  ...lastingFilters,
  storage: Type.Optional(Type.Enum(["all", ...storageClasses])),
  includeArchive: Type.Optional(Type.Boolean()),
})
