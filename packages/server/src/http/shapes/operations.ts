import { Type } from "./type.ts"
import type { Health as WireHealth, Limits as WireLimits, Readiness as WireReadiness } from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"

export const Health = shapeOf<WireHealth>()(Type.Object({ status: Type.String() }, { title: "Health" }))

export const Readiness = shapeOf<WireReadiness>()(
  Type.Object(
    {
      ready: Type.Boolean(),
      reason: Type.Optional(Type.String()),
      checks: Type.Optional(Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.Optional(Type.String()) }))),
    },
    { title: "Readiness" },
  ),
)

/** `?verbose` is enough: the parameter needs no value. */
export const ReadinessQuery = Type.Object({ verbose: Type.Optional(Type.Enum(["", "true", "false"])) })

const positive = Type.Integer({ minimum: 1 })

export const Limits = shapeOf<WireLimits>()(
  Type.Object(
    {
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
    },
    { title: "Limits" },
  ),
)

/** OpenAPI 3.1 describes itself elsewhere. */
export const OpenApiDocument = Type.Object({ openapi: Type.String() }, { title: "OpenApiDocument" })
