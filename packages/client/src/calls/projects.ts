import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given } from "../given.ts"
import { listing } from "../listing.ts"
import type { NewProject, Project, ProjectChange, ProjectList } from "../wire.ts"

export function projectCalls(call: Call) {
  const lists = listing(call, "projects", (page: ProjectList) => page.projects)
  return Object.assign(lists, {
    create: (
      workspaceId: string,
      project: Given<NewProject>,
      options?: CallOptions,
    ): Promise<Project> =>
      call.post(path`/v1/workspaces/${workspaceId}/projects`, project, options),

    get: (workspaceId: string, projectId: string, options?: CallOptions): Promise<Project> =>
      call.get(path`/v1/workspaces/${workspaceId}/projects/${projectId}`, {}, options),

    /** Changes the settings that are named; the others stay. */
    update: (
      workspaceId: string,
      projectId: string,
      change: Given<ProjectChange>,
      options?: CallOptions,
    ): Promise<Project> =>
      call.patch(path`/v1/workspaces/${workspaceId}/projects/${projectId}`, change, options),
  })
}
