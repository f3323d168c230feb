import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { defaultLimits, type Limits as OurLimits } from "../../limits.ts"
import { answerOf } from "./wire-shape.ts"
import { open } from "./enumeration.ts"
import { sample } from "./sample.ts"
import { Time } from "./time.ts"

export const Health = answerOf<wire.Health>()("Health", { status: Type.String() }, { status: "ok" })

export const Readiness = answerOf<wire.Readiness>()(
  "Readiness",
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
  { ready: true },
)

/** `?verbose` is enough: the parameter needs no value. */
export const ReadinessQuery = Type.Object({
  verbose: Type.Optional(
    Type.Enum(["", "true", "false"], { docs: { description: "Also list each check." } }),
  ),
})

const positive = Type.Integer({ minimum: 1 })

/** The limits that a caller can reach. */
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
  phrasesMax: positive,
  packBytesMax: positive,
  projectsMax: positive,
  apiKeysMax: positive,
  tokensMax: positive,
  policyVersionsMax: positive,
  packDownloadsPerMinute: positive,
  pageBytesMax: positive,
  anonymousReadsPerMinute: positive,
  failedLoginsPerMinute: positive,
}

export function shownLimits(limits: OurLimits): wire.Limits {
  const names = Object.keys(limitFields) as (keyof typeof limitFields)[] // of the object above
  return Object.fromEntries(names.map((name) => [name, limits[name]])) as wire.Limits // the shape is compared with it
}

export const Limits = answerOf<wire.Limits>()("Limits", limitFields, shownLimits(defaultLimits))

const count = Type.Integer({ minimum: 0 })
const duration = Type.Optional(count)

export const System = answerOf<wire.System>()(
  "System",
  {
    version: Type.String(),
    node: Type.String(),
    startedAt: Time,
    data: Type.Object({
      engine: open(["sqlite", "postgres"]),
      bytes: count,
      files: Type.Array(Type.Object({ name: Type.String(), bytes: count })),
      freeBytes: Type.Optional(count),
      reserveBytes: count,
      lastBackup: Type.Optional(Type.Object({ at: Time, entries: count })),
    }),
    writing: Type.Object({
      queued: count,
      queuedMax: positive,
      commits: count,
      medianUs: duration,
      p99Us: duration,
    }),
    followers: Type.Array(Type.Object({ follower: Type.String(), entries: count })),
    audit: Type.Optional(
      Type.Object({ round: positive, entries: count, since: Time, unread: count }),
    ),
    broken: Type.Array(Type.String()),
    settings: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  },
  {
    version: "0.1.0",
    node: "26.10.0",
    startedAt: sample.time,
    data: {
      engine: "sqlite",
      bytes: 104_857_600,
      files: [{ name: "journal.db", bytes: 104_857_600 }],
      freeBytes: 250_000_000_000,
      reserveBytes: 67_108_864,
      lastBackup: { at: sample.time, entries: 88_000 },
    },
    writing: { queued: 0, queuedMax: 5000, commits: 1000, medianUs: 3200, p99Us: 9100 },
    followers: [{ follower: "checkpointer", entries: 12 }],
    audit: { round: 7, entries: 88_310, since: sample.time, unread: 0 },
    broken: [],
    settings: [{ name: "TALLYSTICK_PORT", value: "8080" }],
  },
)

/** The shape of an OpenAPI 3.1 document is defined by OpenAPI. */
export const OpenApiDocument = Type.Object(
  { openapi: Type.String() },
  { title: "OpenApiDocument", additionalProperties: true },
)
