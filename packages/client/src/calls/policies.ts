import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { eachOf, nextOf } from "../paging.ts"
import type {
  ListQuery,
  NewPolicy,
  Policy,
  PolicyAnswer,
  PolicyList,
  PolicyVersion,
} from "../wire.ts"

/** Absent: `core`. */
export interface OfProject {
  readonly projectId?: string
}

export function policyCalls(call: Call) {
  const list = (
    workspaceId: string,
    query: Partial<ListQuery> & OfProject = {},
    options?: CallOptions,
  ): Promise<PolicyList> =>
    call.json(
      {
        method: "GET",
        path: path`/v1/workspaces/${workspaceId}/published-policy`,
        query: { ...query },
      },
      options,
    )
  return {
    /** Publishes the next version of a project's policy. It never changes. */
    publish: async (
      workspaceId: string,
      policy: NewPolicy,
      options?: CallOptions,
    ): Promise<Policy> =>
      (
        await call.json<PolicyAnswer>(
          {
            method: "POST",
            path: path`/v1/workspaces/${workspaceId}/published-policy`,
            body: policy,
          },
          options,
        )
      ).policy,

    /** One page of versions, without their text. */
    list,

    each: (
      workspaceId: string,
      query: Partial<ListQuery> & OfProject = {},
      options?: CallOptions,
    ): AsyncGenerator<PolicyVersion, void, undefined> =>
      eachOf(
        (cursor) => list(workspaceId, cursor === undefined ? query : { ...query, cursor }, options),
        (page) => ({ items: page.policies, next: nextOf(page) }),
        query.cursor,
      ),

    get: async (
      workspaceId: string,
      version: number | "latest",
      { projectId }: OfProject = {},
      options?: CallOptions,
    ): Promise<Policy> =>
      (
        await call.json<PolicyAnswer>(
          {
            method: "GET",
            path: path`/v1/workspaces/${workspaceId}/published-policy/${String(version)}`,
            query: { projectId },
          },
          options,
        )
      ).policy,
  }
}
