import type * as wire from "@tallystick/client/wire"
import { definedOf } from "@tallystick/proof"
import { isoTime } from "../../clock.ts"
import type { Document } from "../../store/documents.ts"
import type { CredentialUse } from "../../store/index-state.ts"
import { created, ok } from "../endpoint.ts"
import { changeable, endpoint, listAnswer, type Service, type ServiceEndpoint } from "../service.ts"
import { ApiKeyList, CreatedApiKey, MadeByKey, NewApiKey, RevokeQuery } from "../shapes/api-key.ts"
import { instanceWorkspace } from "../../workspace/permissions.ts"
import { makerOf } from "../../workspace/makers.ts"
import { ListQuery } from "../shapes/list.ts"
import { membersJson } from "./member-endpoints.ts"

export function apiKeyEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/api-keys",
      operation: "createApiKey",
      summary: "Create an API key",
      description: "The answer is the only one that shows the key.",
      access: { action: "administer" },
      body: NewApiKey,
      answers: { 201: CreatedApiKey },
      async handle({ caller, params, body }) {
        const workspace = await changeable(service, params.workspaceId)
        const { key, document } = await service.keys.create(caller, workspace, body)
        return created({ key, ...(await keyJson(service, document)) })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/api-keys",
      operation: "listApiKeys",
      summary: "List the API keys",
      description: "The API keys of a workspace without their secrets, newest first.",
      access: { action: "administer" },
      query: ListQuery,
      answers: { 200: ApiKeyList },
      handle: (call) =>
        listAnswer(service, "api-key", "apiKeys", call, {
          show: (keys) => keysJson(service, keys),
        }),
    }),
    endpoint({
      route: "DELETE /v1/workspaces/{workspaceId}/api-keys/{keyId}",
      operation: "revokeApiKey",
      summary: "Revoke an API key",
      description:
        "Ends a key and the tokens that it made. Keys and members that it made stay valid, and are listed; with `cascade=true` they end as well. 204 if there are none.",
      access: { action: "administer" },
      query: RevokeQuery,
      answers: { 204: null, 200: MadeByKey },
      async handle({ caller, params: { workspaceId, keyId }, query: { cascade } }) {
        const workspace = await changeable(service, workspaceId)
        if (!cascade) await service.keys.revoke(caller, workspace, keyId)
        const { keys, members } = cascade
          ? await service.cascade.revoke(caller, workspace, keyId)
          : await service.cascade.madeBy(workspaceId, keyId)
        if (cascade && service.halted(instanceWorkspace) === undefined)
          for (const { id } of members) await service.accounts.removeIfNowhere(caller, id)
        if (keys.length + members.length === 0) return { status: 204 }
        return ok({
          revoked: cascade,
          apiKeys: await keysJson(service, keys),
          members: await membersJson(service, members),
        })
      },
    }),
  ]
}

async function keysJson(
  service: Service,
  keys: readonly Document<"api-key">[],
): Promise<wire.ApiKey[]> {
  const uses = await service.uses.of(keys.map(({ id }) => id))
  return Promise.all(
    keys.map(async (key) => ({ ...(await keyJson(service, key)), ...useJson(uses.get(key.id)) })),
  )
}

/** A new key, which was not used yet. */
async function keyJson(
  { store }: Service,
  { id, workspace, value }: Document<"api-key">,
): Promise<wire.ApiKey> {
  const { mac: _, createdBy, name, scopes, projectIds, createdAt, expiresAt, revokedAt } = value
  return {
    keyId: id,
    workspaceId: workspace,
    name,
    scopes,
    createdAt,
    createdBy: await makerOf(store.registry, workspace, createdBy),
    ...definedOf({ projectIds, expiresAt, revokedAt }),
  }
}

function useJson(use: CredentialUse | undefined): Pick<wire.ApiKey, "lastUsedAt" | "lastUsedFrom"> {
  return use === undefined ? {} : { lastUsedAt: isoTime(use.atMs), lastUsedFrom: use.from }
}
