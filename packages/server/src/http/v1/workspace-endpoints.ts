import type * as wire from "@tallystick/client/wire"
import { LedgerError } from "../../error.ts"
import type { Limits } from "../../limits.ts"
import type { Document } from "../../store/documents.ts"
import { instanceWorkspace, mayTouch } from "../../workspace/permissions.ts"
import { recordExport } from "../../workspace/recorded-reads.ts"
import { settingsOf } from "../../workspace/workspaces.ts"
import { created, ok } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  permitWriting,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { confirmRetention } from "./retention-endpoints.ts"
import { ListQuery } from "../shapes/list.ts"
import { NewExport } from "../shapes/page.ts"
import { NewWorkspace, Workspace, WorkspaceChange, WorkspaceList } from "../shapes/workspace.ts"

export function workspaceEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces",
      operation: "createWorkspace",
      summary: "Create a workspace",
      description: "A workspace has a ledger of its own, and a project `core`.",
      access: { action: "preside" },
      body: NewWorkspace,
      answers: { 201: Workspace },
      async handle({ caller, body }) {
        permitWriting(service)
        if (body.id === instanceWorkspace)
          throw new LedgerError(
            "conflict",
            "the workspace instance is the service's own, and is made with the first member",
          )
        return created(workspaceJson(service.limits, await service.workspaces.create(caller, body)))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces",
      operation: "listWorkspaces",
      summary: "List the workspaces",
      description: "Every workspace of the instance, newest first.",
      access: { action: "preside" },
      query: ListQuery,
      answers: { 200: WorkspaceList },
      async handle({ query, incoming: { signal } }) {
        const { items, nextCursor } = await service.lists.page(
          "workspaces",
          query,
          signal,
          (before, limit) => service.store.registry.list("workspace", undefined, before, limit),
        )
        return ok({
          workspaces: items.map((item) => workspaceJson(service.limits, item)),
          nextCursor,
        })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}",
      operation: "getWorkspace",
      summary: "Get a workspace",
      description:
        "A workspace and its settings. A key of some projects sees no retention rule of another.",
      access: { action: "read" },
      answers: { 200: Workspace },
      async handle({ caller, params }) {
        const workspace = await service.workspaces.get(params.workspaceId)
        const { retention, ...shown } = workspaceJson(service.limits, workspace)
        // A rule tells that its project exists.
        const seen = retention.filter(
          ({ projectId }) => projectId === undefined || mayTouch(caller, projectId),
        )
        return ok({ ...shown, retention: seen })
      },
    }),
    endpoint({
      route: "PATCH /v1/workspaces/{workspaceId}",
      operation: "updateWorkspace",
      summary: "Change a workspace",
      description:
        "Changes the given settings, and leaves the others. Recorded entries do not change. Rules of `retention` that would expire existing entries need `confirm`, the token of a preview.",
      access: { action: "administer" },
      body: WorkspaceChange,
      answers: { 200: Workspace },
      async handle({ caller, params, body }) {
        permitWriting(service, params.workspaceId)
        const { confirm, ...changes } = body
        if (changes.retention !== undefined) {
          const before = await service.workspaces.get(params.workspaceId)
          await confirmRetention(service, before, changes.retention, confirm)
        }
        return ok(
          workspaceJson(
            service.limits,
            await service.workspaces.change(caller, params.workspaceId, changes),
          ),
        )
      },
    }),
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/exports",
      operation: "recordExport",
      summary: "Record an export",
      description:
        "Records in the workspace's own ledger that it is exported. `tallystick export` calls this before it writes the files.",
      access: { action: "preside" },
      body: NewExport,
      answers: { 204: null },
      async handle({ caller, params: { workspaceId }, body: { entries } }) {
        await recordExport(service, caller, await changeable(service, workspaceId), entries)
        return { status: 204 }
      },
    }),
  ]
}

function workspaceJson(
  { projectsMax }: Limits,
  { id, value }: Document<"workspace">,
): wire.Workspace {
  const { name, createdAt, ledgerId, origin, retention = [] } = value
  const settings = { projectsMax, ...settingsOf(value), retention }
  return { id, name, createdAt, ledgerId, origin, ...settings }
}
