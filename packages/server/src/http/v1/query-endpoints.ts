// Queries of entries: for readers of a workspace, and for one person about that person.

import type * as wire from "@tallystick/client/wire"
import { LedgerError } from "../../error.ts"
import { requireOrder, searchOf, wantedIn } from "../../query/entry-filter.ts"
import type { EntryPage, PageRequest } from "../../query/entry-queries.ts"
import { systemProject } from "../../store/search/searchable-fields.ts"
import type { Wanted } from "../../store/search/search.ts"
import { reachOf, type Principal } from "../../workspace/permissions.ts"
import { ok } from "../endpoint.ts"
import { endpoint, permitProject, type Service, type ServiceEndpoint } from "../service.ts"
import { heldFor } from "./hold-endpoints.ts"
import { ActivityPage, ActivityQuery, EventsPage, EventsQuery } from "../shapes/page.ts"

export function queryEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/events",
      operation: "listEvents",
      summary: "List entries",
      description:
        "Entries of a workspace, newest first, by filters and a search; `from` ≤ `occurredAt` < `to`. Every entry of the page was read and hashed again. The result includes every event whose 202 was received before the request.",
      refuses: ["overloaded"],
      access: { action: "read" },
      query: EventsQuery,
      answers: { 200: EventsPage },
      async handle({ caller, params: { workspaceId }, query: asked, incoming: { signal } }) {
        const wanted = wantedOf(caller, asked)
        const workspace = await service.workspaces.get(workspaceId)
        const page = await service.queries.page(workspace, {
          wanted,
          storage: storageOf(asked),
          cursor: asked.cursor,
          limit: asked.limit,
          isProven: asked.include !== undefined,
          isHeld: heldFor(service, caller, workspaceId),
          signal,
        })
        return ok(pageJson(page, {}))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/activity",
      operation: "listActivity",
      summary: "List a person's activity",
      description:
        "The entries that the person of an activity token may see, newest first. Sealed fields of other people are withheld.",
      refuses: ["activity_disabled", "overloaded"],
      access: { action: "redeem", tokens: ["activity"], queryToken: "activity" },
      cors: true,
      query: ActivityQuery,
      answers: { 200: ActivityPage },
      async handle({ caller, params: { workspaceId }, query: asked, incoming: { signal } }) {
        const { projectId, subject } = caller.bound
        const workspace = await service.workspaces.get(workspaceId)
        const project = await service.projects.find(workspaceId, projectId)
        if (project?.value.activityLinks !== true)
          throw new LedgerError("activity_disabled", "this project has no activity links now")
        const page = await service.queries.page(workspace, {
          wanted: {
            projectIds: [projectId],
            system: "without",
            subject,
            ...searchOf(asked.query),
          },
          storage: "all",
          cursor: asked.cursor,
          limit: asked.limit,
          isProven: asked.include !== undefined,
          signal,
        })
        const about = {
          workspaceId,
          projectId,
          subject: subject.id,
          query: asked.query ?? null,
          policyVersion: project.value.policyVersion ?? 0,
          phrases: project.value.phrases,
        }
        return ok(pageJson(page, about))
      },
    }),
  ]
}

export function storageOf({
  storage,
  includeArchive,
}: wire.EventsFilter): "hot" | "archive" | "all" {
  return storage ?? (includeArchive ? "all" : "hot")
}

/**
 * The entries that a query asks for, limited to those that the caller may see. `at` is the path of
 * the query's parameters in a body.
 */
export function wantedOf(caller: Principal, asked: wire.EventsFilter, at = ""): Wanted {
  const { projectId, includeSystem } = asked
  if (projectId !== "all") permitProject(caller, projectId)
  if (includeSystem) permitProject(caller, systemProject)
  const wanted = wantedIn(asked, reachOf(caller), at)
  requireOrder(wanted, at)
  return wanted
}

/** A filter in a body matches the same entries as a query with these parameters. */
export function filteredFor(
  caller: Principal,
  {
    storage,
    projectId = "all",
    includeArchive = false,
    includeSystem = false,
    ...rest
  }: wire.EntryFilter,
): Pick<PageRequest, "wanted" | "storage"> {
  const asked = { ...rest, projectId, includeArchive, includeSystem }
  return {
    wanted: wantedOf(caller, asked, "filter."),
    storage: storageOf({ ...asked, ...(storage !== undefined && { storage }) }),
  }
}

export function pageJson(
  { events, total, nextCursor, hasMore, verified }: EntryPage,
  about: object,
): Buffer {
  const returned = events.length
  return entriesJson(events, { returned, total, nextCursor, hasMore, verified, ...about })
}

/**
 * Returns a buffer: joining large entries into a string and encoding it again would take too long.
 */
export function entriesJson(events: readonly Uint8Array[], about: object): Buffer {
  const rest = JSON.stringify(about)
  const joined = events.flatMap((event, place) => (place === 0 ? [event] : [comma, event]))
  return Buffer.concat([Buffer.from('{"events":['), ...joined, Buffer.from(`],${rest.slice(1)}`)])
}

const comma = Buffer.from(",")
