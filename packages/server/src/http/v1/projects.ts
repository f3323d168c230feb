import type { Project as WireProject } from "@tallystick/client/wire"
import { LedgerError } from "../../error.ts"
import type { Document } from "../../store/store.ts"
import { mayTouch, reachOf } from "../../workspace/allow.ts"
import { endpoint, permit, permitWriting, workspaceFor, type Service, type ServiceEndpoint } from "../service.ts"
import { ListQuery } from "../shapes/list.ts"
import { ProjectParams, WorkspaceParams } from "../shapes/path.ts"
import { NewProject, Project, ProjectChange, ProjectList } from "../shapes/project.ts"

export function projectEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/projects",
      summary: "Create a project",
      access: { action: "administer" },
      params: WorkspaceParams,
      body: NewProject,
      answers: { 201: Project },
      async handle({ caller, params, body }) {
        permit(caller, "administer", params.workspaceId)
        permitWriting(service, params.workspaceId)
        const workspace = await service.workspaces.get(params.workspaceId)
        return { status: 201, body: projectJson(await service.projects.create(caller, workspace, body)) }
      },
    }),
    endpoint({
      method: "GET",
      path: "/v1/workspaces/{workspaceId}/projects",
      summary: "List the projects that the credential reaches",
      access: { action: "read" },
      params: WorkspaceParams,
      query: ListQuery,
      answers: { 200: ProjectList },
      async handle({ caller, params, query, incoming: { signal } }) {
        permit(caller, "read", params.workspaceId)
        const { id } = await service.workspaces.get(params.workspaceId)
        const reach = reachOf(caller)
        const { items, nextCursor } = await service.lists.page(`${id}/projects`, query, signal, (before, limit) =>
          service.projects.list(id, before, limit, reach),
        )
        return { status: 200, body: { projects: items.map(projectJson), nextCursor } }
      },
    }),
    endpoint({
      method: "GET",
      path: "/v1/workspaces/{workspaceId}/projects/{projectId}",
      summary: "A project and its settings",
      access: { action: "read" },
      params: ProjectParams,
      answers: { 200: Project },
      async handle({ caller, params: { workspaceId, projectId } }) {
        permit(caller, "read", workspaceId)
        const workspace = await workspaceFor(service, caller, "read", workspaceId)
        const project = mayTouch(caller, projectId) ? await service.projects.find(workspace.id, projectId) : undefined
        if (project === undefined) throw new LedgerError("not_found", "there is no such project")
        return { status: 200, body: projectJson(project) }
      },
    }),
    endpoint({
      method: "PATCH",
      path: "/v1/workspaces/{workspaceId}/projects/{projectId}",
      summary: "Change the settings of a project",
      access: { action: "administer" },
      params: ProjectParams,
      body: ProjectChange,
      answers: { 200: Project },
      async handle({ caller, params: { workspaceId, projectId }, body }) {
        permit(caller, "administer", workspaceId)
        permitWriting(service, workspaceId)
        const workspace = await service.workspaces.get(workspaceId)
        return { status: 200, body: projectJson(await service.projects.change(caller, workspace, projectId, body)) }
      },
    }),
  ]
}

function projectJson({ id, workspace, value: { name, receipts, activityLinks, createdAt } }: Document<"project">): WireProject {
  return { id, workspaceId: workspace, name, createdAt, receipts, activityLinks }
}
