import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given, Optional } from "../given.ts"
import { eachOf, nextOf } from "../paging.ts"
import type {
  ListQuery,
  NewExport,
  NewWorkspace,
  Workspace,
  WorkspaceChange,
  WorkspaceList,
} from "../wire.ts"

export function workspaceCalls(call: Call) {
  const list = (query: Optional<ListQuery> = {}, options?: CallOptions): Promise<WorkspaceList> =>
    call.get("/v1/workspaces", { ...query }, options)
  return {
    /** Makes a workspace, with a project `core`. Needs the instance key. */
    create: (workspace: Given<NewWorkspace>, options?: CallOptions): Promise<Workspace> =>
      call.post("/v1/workspaces", workspace, options),

    list,

    each: (
      query: Optional<ListQuery> = {},
      options?: CallOptions,
    ): AsyncGenerator<Workspace, void, undefined> =>
      eachOf(
        query,
        (asked) => list(asked, options),
        (page) => ({ items: page.workspaces, next: nextOf(page) }),
      ),

    get: (workspaceId: string, options?: CallOptions): Promise<Workspace> =>
      call.get(path`/v1/workspaces/${workspaceId}`, {}, options),

    /** Changes the settings that are named; the others stay. */
    update: (
      workspaceId: string,
      change: Given<WorkspaceChange>,
      options?: CallOptions,
    ): Promise<Workspace> => call.patch(path`/v1/workspaces/${workspaceId}`, change, options),

    /** Records that the workspace is exported. Needs the instance key. */
    recordExport: (
      workspaceId: string,
      made: Given<NewExport>,
      options?: CallOptions,
    ): Promise<void> =>
      call.nothing(
        { method: "POST", path: path`/v1/workspaces/${workspaceId}/exports`, body: made },
        options,
      ),
  }
}
