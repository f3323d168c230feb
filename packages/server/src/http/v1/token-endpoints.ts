// Scoped tokens: a caller who may read a resource may create a token for that resource alone.
// Administrators list and revoke tokens.

import type * as wire from "@tallystick/client/wire"
import { definedOf } from "@tallystick/proof"
import { isoTime } from "../../clock.ts"
import { openEntry } from "../../store/opened-entry.ts"
import { LedgerError, usualError } from "../../error.ts"
import type { Document, Listed, Subject, TokenBound, Workspace } from "../../store/documents.ts"
import type { CredentialUse } from "../../store/index-state.ts"
import { makerOf } from "../../workspace/makers.ts"
import { mayTouch, type Principal } from "../../workspace/permissions.ts"
import { required } from "../../workspace/required-document.ts"
import { created, type Answer } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  listAnswer,
  permitProject,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { usualProject } from "../shapes/policy.ts"
import {
  CreatedActivityToken,
  CreatedEvidenceToken,
  CreatedPolicyToken,
  CreatedReceiptToken,
  NewActivityToken,
  NewEvidenceToken,
  NewPolicyToken,
  NewReceiptToken,
  TokenList,
  TokenListQuery,
} from "../shapes/token.ts"
import { packFor } from "./pack-endpoints.ts"

/** Fields that the endpoints that make tokens share. */
const ofNewToken = {
  access: { action: "read" },
  bodyMayBeAbsent: true,
} as const

export function tokenEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    receiptToken(service),
    policyToken(service),
    evidenceToken(service),
    activityToken(service),
    ...administration(service),
  ]
}

function receiptToken(service: Service): ServiceEndpoint {
  return endpoint({
    ...ofNewToken,
    route: "POST /v1/workspaces/{workspaceId}/receipts/{receiptId}/token",
    operation: "createReceiptToken",
    summary: "Create a receipt token",
    description: "A token that opens this receipt alone. The answer is the only one that shows it.",
    body: NewReceiptToken,
    answers: { 201: CreatedReceiptToken },
    async handle({ caller, params: { workspaceId, receiptId: receipt }, body }) {
      const workspace = await changeable(service, workspaceId)
      const stored = await service.store.journal.byReceipt(workspaceId, receipt)
      const projectId = stored && openEntry(stored, [])?.content.projectId
      if (stored === undefined || !mayTouch(caller, projectId))
        throw new LedgerError("not_found", "there is no such receipt")
      const bound = { type: "receipt", receipt } as const
      const path = `receipts/${receipt}`
      return mint(service, caller, workspace, bound, body, path, ({ token }) => ({
        verificationUrl: `${service.publicUrl}/r/${workspaceId}/${receipt}#t=${token}`,
      }))
    },
  })
}

function policyToken(service: Service): ServiceEndpoint {
  return endpoint({
    ...ofNewToken,
    route: "POST /v1/workspaces/{workspaceId}/published-policy/token",
    operation: "createPolicyToken",
    summary: "Create a policy token",
    description:
      "A token that opens the policy of a project, or one version of it. The answer is the only one that shows it.",
    body: NewPolicyToken,
    answers: { 201: CreatedPolicyToken },
    async handle({ caller, params: { workspaceId }, body }) {
      const { projectId = usualProject, version } = body
      const workspace = await changeable(service, workspaceId)
      await projectFor(service, caller, workspaceId, projectId)
      if (
        version !== undefined &&
        (await service.policies.find(workspaceId, projectId, version)) === undefined
      )
        throw new LedgerError("not_found", "this version of the policy was not published")
      const bound = { type: "policy", projectId, ...definedOf({ version }) } as const
      const named = `${version ?? "latest"}${projectId === usualProject ? "" : `?projectId=${projectId}`}`
      const path = `published-policy/${named}`
      return mint(service, caller, workspace, bound, body, path, ({ token }) => ({
        policyUrl: `${service.publicUrl}/p/${workspaceId}/${named}#t=${token}`,
      }))
    },
  })
}

function evidenceToken(service: Service): ServiceEndpoint {
  return endpoint({
    ...ofNewToken,
    route: "POST /v1/workspaces/{workspaceId}/evidence-packs/{packId}/token",
    operation: "createPackToken",
    summary: "Create an evidence token",
    description:
      "A token that downloads this evidence pack and verifies the receipts in it. The answer is the only one that shows it.",
    body: NewEvidenceToken,
    answers: { 201: CreatedEvidenceToken },
    async handle({ caller, params: { workspaceId, packId }, body }) {
      const workspace = await changeable(service, workspaceId)
      const pack = await packFor(service, caller, workspaceId, packId)
      const bound = { type: "evidence", packId } as const
      const path = `evidence-packs/${packId}/download`
      return mint(service, caller, workspace, bound, body, path, ({ token, apiUrl }) => ({
        receiptCount: pack.value.sequences.length,
        downloadUrl: apiUrl,
        pageUrl: `${service.publicUrl}/e/${workspaceId}/${packId}#t=${token}`,
      }))
    },
  })
}

function activityToken(service: Service): ServiceEndpoint {
  return endpoint({
    ...ofNewToken,
    route: "POST /v1/workspaces/{workspaceId}/activity/token",
    operation: "createActivityToken",
    summary: "Create an activity token",
    description:
      "A token with which a person sees the part of their activity that is visible to them. The answer is the only one that shows it.",
    refuses: ["activity_disabled"],
    body: NewActivityToken,
    answers: { 201: CreatedActivityToken },
    async handle({ caller, params: { workspaceId }, body }) {
      const workspace = await changeable(service, workspaceId)
      const project = await projectFor(service, caller, workspaceId, body.projectId)
      if (!project.value.activityLinks) throw usualError("activity_disabled")
      const bound = {
        type: "activity",
        projectId: project.id,
        subject: subjectOf(body.subject),
      } as const
      return mint(service, caller, workspace, bound, body, "activity", ({ token }) => ({
        activityUrl: `${service.publicUrl}/a/${workspaceId}#t=${token}`,
      }))
    },
  })
}

function administration(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/tokens",
      operation: "listTokens",
      summary: "List the scoped tokens",
      description:
        "The scoped tokens of a workspace without their secrets, newest first; or those of one pack.",
      access: { action: "administer" },
      query: TokenListQuery,
      answers: { 200: TokenList },
      async handle(call) {
        const { packId } = call.query
        const ofPack = {
          list: `tokens of ${packId}`,
          sees: ({ value: { bound } }: Listed<"token">) =>
            bound.type === "evidence" && bound.packId === packId,
        }
        return listAnswer(service, "token", "tokens", call, {
          ...(packId === undefined ? {} : ofPack),
          show: (tokens) => tokensJson(service, tokens),
        })
      },
    }),
    endpoint({
      route: "DELETE /v1/workspaces/{workspaceId}/tokens/{tokenId}",
      operation: "revokeToken",
      summary: "Revoke a scoped token",
      description: "Ends a scoped token from the next request on.",
      access: { action: "administer" },
      answers: { 204: null },
      async handle({ caller, params }) {
        await service.tokens.revoke(
          caller,
          await changeable(service, params.workspaceId),
          params.tokenId,
        )
        return { status: 204 }
      },
    }),
  ]
}

async function projectFor(
  service: Service,
  by: Principal,
  workspaceId: string,
  projectId: string,
): Promise<Document<"project">> {
  permitProject(by, projectId)
  return required(service.store.registry, "project", workspaceId, projectId)
}

/**
 * `path` is the path in the workspace where a program uses the token. `further` are more members of
 * the answer.
 */
async function mint(
  service: Service,
  by: Principal,
  workspace: Workspace,
  bound: TokenBound,
  request: wire.NewToken,
  path: string,
  further: (made: { readonly token: string; readonly apiUrl: string }) => object,
): Promise<Answer> {
  const { token, document } = await service.tokens.create(by, workspace, bound, request)
  const apiUrl = `${service.publicUrl}/v1/workspaces/${workspace.id}/${path}`
  return created({ token, ...fieldsOf(document), apiUrl, ...further({ token, apiUrl }) })
}

function fieldsOf({
  id,
  workspace,
  value: { bound, note, createdAt, expiresAt },
}: Document<"token">) {
  return {
    tokenId: id,
    workspaceId: workspace,
    ...bound,
    ...definedOf({ note }),
    createdAt,
    expiresAt,
  }
}

async function tokensJson(
  service: Service,
  tokens: readonly Document<"token">[],
): Promise<wire.Token[]> {
  const uses = await service.uses.of(tokens.map(({ id }) => id))
  return Promise.all(tokens.map((token) => tokenJson(service, token, uses.get(token.id))))
}

async function tokenJson(
  { store, tokens }: Service,
  document: Document<"token">,
  use: CredentialUse | undefined,
): Promise<wire.Token> {
  const { minter, revokedAt } = document.value
  const minterId = minter.kind === "instance" ? "instance" : minter.id
  return {
    ...fieldsOf(document),
    ...definedOf({ revokedAt }),
    state: await tokens.stateOf(document),
    mintedBy: await makerOf(store.registry, document.workspace, minterId),
    ...(use === undefined ? {} : { lastUsedAt: isoTime(use.atMs) }),
  }
}

/** Common types of persons in events. */
const personTypes = ["user", "subject", "person", "member", "customer", "account"]

function subjectOf(
  given: string | { readonly id: string; readonly types?: readonly string[] },
): Subject {
  return typeof given === "string"
    ? { id: given, types: personTypes }
    : { id: given.id, types: given.types ?? personTypes }
}
