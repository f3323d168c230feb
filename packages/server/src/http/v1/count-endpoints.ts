// Counting entries: when they occurred, and which values of a field are the commonest.

import { assert } from "@tallystick/proof"
import { queryFields } from "@tallystick/client/grammar"
import type * as wire from "@tallystick/client/wire"
import { isoTime } from "../../clock.ts"
import { LedgerError } from "../../error.ts"
import { instantOf, isBefore } from "../../store/instant.ts"
import type { Counted, Counting, Wanted } from "../../store/search/search.ts"
import { ok } from "../endpoint.ts"
import { endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { FieldValues, Timeline, TimelineQuery, ValuesQuery } from "../shapes/page.ts"
import { storageOf, wantedOf } from "./query-endpoints.ts"

export function countEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/events/timeline",
      operation: "getTimeline",
      summary: "Count entries by time",
      description:
        "Exact counts of the entries that match a filter and a search, by span of time and by lane or project.",
      refuses: ["overloaded"],
      access: { action: "read" },
      query: TimelineQuery,
      answers: { 200: Timeline },
      async handle({ caller, params: { workspaceId }, query: asked, incoming: { signal } }) {
        const request = { wanted: wantedOf(caller, asked), storage: storageOf(asked), signal }
        const counting = timelineOf(request.wanted, asked)
        const workspace = await service.workspaces.get(workspaceId)
        const counted = await service.queries.count(workspace, request, counting)
        return ok(timelineJson(asked, counting, counted))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/events/values",
      operation: "listValues",
      summary: "List the commonest values of a field",
      description:
        "The values of a field in the entries that match a filter and a search, with the number of entries of each, the commonest first. Values are in lower case.",
      refuses: ["overloaded"],
      access: { action: "read" },
      query: ValuesQuery,
      answers: { 200: FieldValues },
      async handle({ caller, params: { workspaceId }, query: asked, incoming: { signal } }) {
        const request = { wanted: wantedOf(caller, asked), storage: storageOf(asked), signal }
        const field = fieldOf(asked.field)
        const { countedValuesMax: valuesMax } = service.limits
        const counting = { kind: "values", field, limit: asked.limit, valuesMax } as const
        const workspace = await service.workspaces.get(workspaceId)
        const counted = await service.queries.count(workspace, request, counting)
        return ok(valuesJson(counted))
      },
    }),
  ]
}

type TimelineCounting = Extract<Counting, { readonly kind: "timeline" }>

const [earliestMs = 0, latestMs = 0] = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"].map(
  (time) => instantOf(time)?.ms,
)

/** Buckets of whole seconds, at most as many as requested. */
function timelineOf(
  { from, to }: Pick<Wanted, "from" | "to">,
  { buckets: most, by }: { readonly buckets: number; readonly by: "lane" | "project" },
): TimelineCounting {
  assert(from !== undefined && to !== undefined, "the shape requires both")
  if (!isBefore(from, to)) throw new LedgerError("invalid_field", "to must be later than from")
  // The start of a bucket is said in UTC, whatever zone was asked for.
  if (from.ms < earliestMs || to.ms > latestMs)
    throw new LedgerError("invalid_field", "from and to must be in the years 0000 to 9999 of UTC")
  const { ms: fromMs } = from
  // Entries have nanoseconds, so a last millisecond that is only partly in the range counts too.
  const spanMs = to.ms + Math.sign(to.ns) - fromMs
  const bucketMs = Math.ceil(spanMs / 1000 / most) * 1000
  return { kind: "timeline", fromMs, bucketMs, buckets: Math.ceil(spanMs / bucketMs), by }
}

function timelineJson(
  { from, to }: { readonly from: string; readonly to: string },
  { fromMs, bucketMs, buckets }: TimelineCounting,
  counted: readonly Counted[],
): string {
  const timeline: wire.Timeline = {
    from,
    to,
    bucketSeconds: bucketMs / 1000,
    buckets: Array.from({ length: buckets }, (_, at) => {
      const some = counted
        .map(({ name, counts }) => [name, counts[at] ?? 0] as const)
        .filter(([, count]) => count > 0)
      return {
        start: isoTime(fromMs + at * bucketMs),
        total: some.reduce((sum, [, count]) => sum + count, 0),
        counts: Object.fromEntries(some),
      }
    }),
  }
  return JSON.stringify(timeline)
}

/** The fields of a search, except ids, which no two entries share. */
const countedFields: readonly string[] = queryFields.filter(
  (name) => name !== "id" && name !== "receipt",
)

function fieldOf(field: string): string {
  if (countedFields.includes(field) || /^metadata\.[^\s:"]+$/u.test(field)) return field
  const names = countedFields.join(", ")
  throw new LedgerError("invalid_field", `field must be one of ${names}, or metadata.<key>`)
}

function valuesJson(counted: readonly Counted[]): string {
  const values = counted.map(({ name, counts: [count = 0] }) => ({ value: name, count }))
  return JSON.stringify({ values } satisfies wire.FieldValues)
}
