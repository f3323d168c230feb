// Published policies. The workspace's settings say whether they are public.

import type * as wire from "@tallystick/client/wire"
import type { JsonObject } from "@tallystick/proof"
import { LedgerError, usualError } from "../../error.ts"
import type { Document, ListPlace } from "../../store/documents.ts"
import { mayTouch, refusal } from "../../workspace/permissions.ts"
import { turnOf, unknownResource } from "../authenticate.ts"
import { created, ok } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  permitProject,
  type Caller,
  type Service,
  type ServiceEndpoint,
  pageAnswer,
} from "../service.ts"
import {
  NewPolicy,
  PolicyAnswer,
  PolicyList,
  PolicyListQuery,
  PolicyQuery,
  usualProject,
} from "../shapes/policy.ts"

export function policyEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/published-policy",
      operation: "publishPolicy",
      summary: "Publish a policy",
      description:
        "Publishes the next version of a project's policy. A published version never changes. A `version` that is not the next one is 409.",
      access: { action: "administer" },
      body: NewPolicy,
      answers: { 201: PolicyAnswer },
      async handle({
        caller,
        params: { workspaceId },
        body: { projectId = usualProject, sections, version },
      }) {
        const workspace = await changeable(service, workspaceId)
        // The strict parser returns nothing but JSON.
        const request = {
          projectId,
          sections: sections as unknown as readonly JsonObject[],
          version,
        }
        return created({
          policy: policyJson(await service.policies.publish(caller, workspace, request)),
        })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/published-policy",
      operation: "listPolicies",
      summary: "List the versions of a policy",
      description:
        "The published versions of a project's policy without their sections, newest first.",
      access: { action: "read" },
      query: PolicyListQuery,
      answers: { 200: PolicyList },
      async handle(call) {
        const { projectId } = call.query
        const { id } = await service.workspaces.get(call.params.workspaceId)
        permitProject(call.caller, projectId)
        const pace = service.pace.of(id)
        // A list of policies is ordered by version.
        const read = async (before: ListPlace | undefined, limit: number) =>
          (await service.policies.list(id, projectId, before?.created, limit, pace)).map(
            (policy) => ({ ...policy, created: policy.value.version }),
          )
        return pageAnswer(service, "policies", call, read, {
          list: `policies/${projectId}`,
          show: (policies) => policies.map(versionJson),
        })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/published-policy/{version}",
      operation: "getPolicy",
      summary: "Get a version of a policy",
      description:
        "A published version of a project's policy, or the latest. Anyone may ask if the workspace's policies are public.",
      access: { action: "read", anonymous: true, foreignAsNone: true, queryToken: "policy" },
      cors: true,
      query: PolicyQuery,
      answers: { 200: PolicyAnswer },
      async handle({ caller, params: { workspaceId, version }, query: { projectId }, incoming }) {
        const wanted = version === "latest" ? version : Number(version)
        // The same look-ups for a workspace that does not exist, so that the time does not reveal
        // that.
        const [workspace, found] = await Promise.all([
          service.store.registry.get("workspace", workspaceId, workspaceId),
          service.policies.find(workspaceId, projectId, wanted),
        ])
        const isPublic = workspace?.value.policyVisibility === "public"
        // A missing policy is answered like a private one.
        if (!isPublic || found === undefined)
          permitPolicy(caller, workspaceId, projectId, found?.value.version ?? wanted)
        if (found === undefined) throw unknownResource(caller)
        // One of 256 KiB takes some milliseconds.
        const pace = service.pace.of(turnOf(caller, workspaceId, incoming))
        if (pace.isUp()) await pace.next()
        const body = JSON.stringify({ policy: policyJson(found) })
        return caller === undefined
          ? { status: 200, body, headers: { "cache-control": "no-cache" } }
          : ok(body)
      },
    }),
  ]
}

/** Throws if the caller could not read this version if it were private. */
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
  if (code !== undefined) throw usualError(code)
}

function versionJson({
  workspace,
  value: { policyId, projectId, version, publishedAt, sectionHash },
}: Document<"policy">): wire.PolicyVersion {
  return { id: policyId, workspaceId: workspace, projectId, version, publishedAt, sectionHash }
}

function policyJson(policy: Document<"policy">): wire.Policy {
  // Publication has checked their shape.
  return {
    ...versionJson(policy),
    sections: policy.value.sections as unknown as wire.Policy["sections"],
  }
}
