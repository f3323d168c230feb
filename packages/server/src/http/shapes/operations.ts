import { Type } from "./type.ts"
import type {
  Health as WireHealth,
  Limits as WireLimits,
  Readiness as WireReadiness,
} from "@tallystick/client/wire"
import { defaultLimits, type Limits as OurLimits } from "../../limits.ts"
import { shapeOf } from "./check.ts"

export const Health = shapeOf<WireHealth>()(
  Type.Object({ status: Type.String() }, { title: "Health" }),
  { status: "ok" },
)

export const Readiness = shapeOf<WireReadiness>()(
  Type.Object(
    {
      ready: Type.Boolean(),
      reason: Type.Optional(Type.String()),
      checks: Type.Optional(
        Type.Array(
          Type.Object({
            name: Type.String(),
            ok: Type.Boolean(),
            detail: Type.Optional(Type.String()),
          }),
        ),
      ),
    },
    { title: "Readiness" },
  ),
  { ready: true },
)

/** `?verbose` is enough: the parameter needs no value. */
export const ReadinessQuery = Type.Object({
  verbose: Type.Optional(Type.Enum(["", "true", "false"])),
})

const positive = Type.Integer({ minimum: 1 })

/** Those that a caller can meet. */
const limitFields = {
  eventBytesMax: positive,
  batchBytesMax: positive,
  batchEventsMax: positive,
  batchObjectsMax: positive,
  depthMax: positive,
  stringBytesMax: positive,
  headersBytesMax: positive,
  uriBytesMax: positive,
  headersTimeoutMs: positive,
  bodyTimeoutMs: positive,
  queuedEventsMax: positive,
  packReceiptsMax: positive,
  packBytesMax: positive,
  projectsMax: positive,
  packDownloadsPerMinute: positive,
  pageBytesMax: positive,
  anonymousReadsPerMinute: positive,
  failedLoginsPerMinute: positive,
}

export function shownLimits(limits: OurLimits): WireLimits {
  const names = Object.keys(limitFields) as (keyof typeof limitFields)[] // of the object above
  return Object.fromEntries(names.map((name) => [name, limits[name]])) as WireLimits // the shape is compared with it
}

export const Limits = shapeOf<WireLimits>()(
  Type.Object(limitFields, { title: "Limits" }),
  shownLimits(defaultLimits),
)

/** OpenAPI 3.1 describes itself elsewhere. */
export const OpenApiDocument = Type.Object(
  { openapi: Type.String() },
  { title: "OpenApiDocument", additionalProperties: true },
)
