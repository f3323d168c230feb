import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { eachOf, nextOf } from "../paging.ts"
import type { ListQuery, NewProject, Project, ProjectChange, ProjectList } from "../wire.ts"

export function projectCalls(call: Call) {
  const list = (
    workspaceId: string,
    query: Partial<ListQuery> = {},
    options?: CallOptions,
  ): Promise<ProjectList> =>
    call.json(
      { method: "GET", path: path`/v1/workspaces/${workspaceId}/projects`, query: { ...query } },
      options,
    )
  return {
    create: (workspaceId: string, project: NewProject, options?: CallOptions): Promise<Project> =>
      call.json(
        { method: "POST", path: path`/v1/workspaces/${workspaceId}/projects`, body: project },
        options,
      ),

    list,

    each: (
      workspaceId: string,
      query: Partial<ListQuery> = {},
      options?: CallOptions,
    ): AsyncGenerator<Project, void, undefined> =>
      eachOf(
        (cursor) => list(workspaceId, cursor === undefined ? query : { ...query, cursor }, options),
        (page) => ({ items: page.projects, next: nextOf(page) }),
        query.cursor,
      ),

    get: (workspaceId: string, projectId: string, options?: CallOptions): Promise<Project> =>
      call.json(
        { method: "GET", path: path`/v1/workspaces/${workspaceId}/projects/${projectId}` },
        options,
      ),

    /** Changes the settings that are named; the others stay. */
    update: (
      workspaceId: string,
      projectId: string,
      change: ProjectChange,
      options?: CallOptions,
    ): Promise<Project> =>
      call.json(
        {
          method: "PATCH",
          path: path`/v1/workspaces/${workspaceId}/projects/${projectId}`,
          body: change,
        },
        options,
      ),
  }
}
