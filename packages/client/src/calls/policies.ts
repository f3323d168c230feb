import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { objectOf, type Given } from "../given.ts"
import { listing } from "../listing.ts"
import type { NewPolicy, Policy, PolicyAnswer, PolicyList, PolicyVersion } from "../wire.ts"

/** Absent: `core`. */
export interface OfProject {
  readonly projectId?: string | undefined
}

export function policyCalls(call: Call) {
  const { list, each } = listing<PolicyList, PolicyVersion, Pick<OfProject, "projectId">>(
    call,
    "published-policy",
    (page) => page.policies,
  )
  return {
    /** Publishes the next version of a project's policy. It never changes. */
    publish: async (
      workspaceId: string,
      policy: Given<NewPolicy>,
      options?: CallOptions,
    ): Promise<Policy> => {
      const published = path`/v1/workspaces/${workspaceId}/published-policy`
      return (await call.post<PolicyAnswer>(published, policy, options)).policy
    },

    /** One page of versions, without their text. */
    list,
    /** All of them, a page at a time. */
    each,

    get: async (
      workspaceId: string,
      version: number | "latest",
      query?: OfProject,
      options?: CallOptions,
    ): Promise<Policy> => {
      const { projectId } = objectOf(query, "query")
      const published = path`/v1/workspaces/${workspaceId}/published-policy/${String(version)}`
      return (await call.get<PolicyAnswer>(published, { projectId }, options)).policy
    },
  }
}
