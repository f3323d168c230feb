import type * as wire from "@tallystick/client/wire"
import { LedgerError } from "../../error.ts"
import type { Document, ListPlace } from "../../store/documents.ts"
import { mayTouch, reachOf } from "../../workspace/permissions.ts"
import { created, ok } from "../endpoint.ts"
import { changeable, endpoint, type Service, type ServiceEndpoint, pageAnswer } from "../service.ts"
import { ListQuery } from "../shapes/list.ts"
import { Project, projectBodies, ProjectList } from "../shapes/project.ts"

export function projectEndpoints(service: Service): readonly ServiceEndpoint[] {
  const { NewProject, ProjectChange } = projectBodies(service.limits.phrasesMax)
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/projects",
      operation: "createProject",
      summary: "Create a project",
      description:
        "A project groups entries, and says whether its receipts are public and whether it has activity links.",
      access: { action: "administer" },
      body: NewProject,
      answers: { 201: Project },
      async handle({ caller, params, body }) {
        const workspace = await changeable(service, params.workspaceId)
        return created(projectJson(await service.projects.create(caller, workspace, body)))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/projects",
      operation: "listProjects",
      summary: "List the projects",
      description: "The projects that the credential can access, newest first.",
      access: { action: "read" },
      query: ListQuery,
      answers: { 200: ProjectList },
      async handle(call) {
        const { id } = await service.workspaces.get(call.params.workspaceId)
        const reach = reachOf(call.caller)
        const read = (before: ListPlace | undefined, limit: number) =>
          service.projects.list(id, before, limit, reach)
        const show = (projects: readonly Document<"project">[]) => projects.map(projectJson)
        return pageAnswer(service, "projects", call, read, { show })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/projects/{projectId}",
      operation: "getProject",
      summary: "Get a project",
      description: "A project and its settings. 404 if the credential cannot access the project.",
      access: { action: "read" },
      answers: { 200: Project },
      async handle({ caller, params: { workspaceId, projectId } }) {
        const workspace = await service.workspaces.get(workspaceId)
        const project = mayTouch(caller, projectId)
          ? await service.projects.find(workspace.id, projectId)
          : undefined
        if (project === undefined) throw new LedgerError("not_found", "there is no such project")
        return ok(projectJson(project))
      },
    }),
    endpoint({
      route: "PATCH /v1/workspaces/{workspaceId}/projects/{projectId}",
      operation: "updateProject",
      summary: "Change a project",
      description: "Changes the given settings, and leaves the others.",
      access: { action: "administer" },
      body: ProjectChange,
      answers: { 200: Project },
      async handle({ caller, params: { workspaceId, projectId }, body }) {
        const workspace = await changeable(service, workspaceId)
        return ok(projectJson(await service.projects.change(caller, workspace, projectId, body)))
      },
    }),
  ]
}

function projectJson({
  id,
  workspace,
  value: { name, receipts, activityLinks, phrases = [], createdAt },
}: Document<"project">): wire.Project {
  return { id, workspaceId: workspace, name, createdAt, receipts, activityLinks, phrases }
}
