// Published policies. Who may read one depends on the workspace: anyone, or those who may read it
// at all.

import type {
  Policy as WirePolicy,
  PolicyVersion as WirePolicyVersion,
} from "@tallystick/client/wire"
import type { JsonObject } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import type { Document } from "../../store/store.ts"
import { mayTouch, refusal } from "../../workspace/permissions.ts"
import { unknownResource } from "../authenticate.ts"
import {
  changeable,
  endpoint,
  permitProject,
  sentences,
  type Caller,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { WorkspaceParams } from "../shapes/path.ts"
import {
  NewPolicy,
  PolicyAnswer,
  PolicyList,
  PolicyListQuery,
  PolicyParams,
  PolicyQuery,
  usualProject,
} from "../shapes/policy.ts"

export function policyEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/published-policy",
      operation: "publishPolicy",
      tag: "Policies",
      summary: "Publish a policy",
      description:
        "Publishes the next version of a project's policy. A published version never changes. A `version` that is not the next one is 409.",
      access: { action: "administer" },
      params: WorkspaceParams,
      body: NewPolicy,
      answers: { 201: PolicyAnswer },
      async handle({
        caller,
        params: { workspaceId },
        body: { projectId = usualProject, sections, version },
      }) {
        const workspace = await changeable(service, workspaceId)
        // What came through the strict scanner is JSON.
        const request = {
          projectId,
          sections: sections as unknown as readonly JsonObject[],
          version,
        }
        return {
          status: 201,
          body: { policy: policyJson(await service.policies.publish(caller, workspace, request)) },
        }
      },
    }),
    endpoint({
      method: "GET",
      path: "/v1/workspaces/{workspaceId}/published-policy",
      operation: "listPolicies",
      tag: "Policies",
      summary: "List the versions of a policy",
      description:
        "The published versions of a project's policy without their sections, newest first.",
      access: { action: "read" },
      params: WorkspaceParams,
      query: PolicyListQuery,
      answers: { 200: PolicyList },
      async handle({
        caller,
        params: { workspaceId },
        query: { projectId, ...page },
        incoming: { signal },
      }) {
        const { id } = await service.workspaces.get(workspaceId)
        permitProject(caller, projectId)
        const { items, nextCursor } = await service.lists.page(
          `${id}/policies/${projectId}`,
          page,
          signal,
          async (before, limit) =>
            // A list is paged by what counts up with it: here, the version.
            (await service.policies.list(id, projectId, before?.created, limit)).map((policy) => ({
              ...policy,
              created: policy.value.version,
            })),
        )
        return { status: 200, body: { policies: items.map(versionJson), nextCursor } }
      },
    }),
    endpoint({
      method: "GET",
      path: "/v1/workspaces/{workspaceId}/published-policy/{version}",
      operation: "getPolicy",
      tag: "Policies",
      summary: "Get a version of a policy",
      description:
        "A published version of a project's policy, or the latest. Anyone may ask if the workspace's policies are public.",
      access: { action: "read", anonymous: true, foreignAsNone: true, queryToken: "policy" },
      cors: true,
      params: PolicyParams,
      query: PolicyQuery,
      answers: { 200: PolicyAnswer },
      async handle({ caller, params: { workspaceId, version }, query: { projectId } }) {
        const wanted = version === "latest" ? version : Number(version)
        // The same is looked up whether there is such a workspace or not.
        const [workspace, found] = await Promise.all([
          service.store.registry.get("workspace", workspaceId, workspaceId),
          service.policies.find(workspaceId, projectId, wanted),
        ])
        const isPublic = workspace?.value.policyVisibility === "public"
        // What is not there is, to whoever may not see what is private, as if it were private.
        if (!isPublic || found === undefined)
          permitPolicy(caller, workspaceId, projectId, found?.value.version ?? wanted)
        if (found === undefined) throw unknownResource(caller)
        const body = { policy: policyJson(found) }
        return caller === undefined
          ? { status: 200, body, headers: { "cache-control": "no-cache" } }
          : { status: 200, body }
      },
    }),
  ]
}

/** Refuses whoever may not read this version were it private. */
function permitPolicy(
  caller: Caller,
  workspaceId: string,
  projectId: string,
  version: number | "latest",
): void {
  if (
    caller?.kind === "token" &&
    caller.workspace === workspaceId &&
    caller.bound.type === "policy"
  ) {
    const { bound } = caller
    if (bound.projectId === projectId && (bound.version === undefined || bound.version === version))
      return
    throw new LedgerError(
      "insufficient_scope",
      "the token is for another policy, or another version of it",
    )
  }
  const code =
    caller === undefined
      ? "unauthorized"
      : (refusal(caller, "read", workspaceId) ??
        (mayTouch(caller, projectId) ? undefined : "project_forbidden"))
  if (code !== undefined) throw new LedgerError(code, sentences[code])
}

function versionJson({
  workspace,
  value: { policyId, projectId, version, publishedAt, sectionHash },
}: Document<"policy">): WirePolicyVersion {
  return { id: policyId, workspaceId: workspace, projectId, version, publishedAt, sectionHash }
}

function policyJson(policy: Document<"policy">): WirePolicy {
  // They were sections when they were published.
  return {
    ...versionJson(policy),
    sections: policy.value.sections as unknown as WirePolicy["sections"],
  }
}
