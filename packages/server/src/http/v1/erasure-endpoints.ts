// Erasures: the ledger destroys the data of a person, and records that it did.

import type * as wire from "@tallystick/client/wire"
import type { Document, Listed } from "../../store/documents.ts"
import { required } from "../../workspace/required-document.ts"
import { ok } from "../endpoint.ts"
import { changeable, endpoint, listAnswer, type Service, type ServiceEndpoint } from "../service.ts"
import { Erasure, ErasureList, ErasurePreview, NewErasure } from "../shapes/erasure.ts"
import { ListQuery } from "../shapes/list.ts"

export function erasureEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/erasures",
      operation: "requestErasure",
      summary: "Erase a person",
      description:
        "Destroys the sealed fields about a person, or whole entries, up to the entry that records this request. It is carried out after the answer, or when the last hold on it is released. With `dryRun`, the answer is 200 and says what would be destroyed.",
      access: { action: "administer" },
      body: NewErasure,
      answers: { 200: ErasurePreview, 202: Erasure },
      async handle({
        caller,
        params: { workspaceId },
        body: { dryRun = false, scope = "fields", ...asked },
        incoming: { signal },
      }) {
        const workspace = await changeable(service, workspaceId)
        const request = { ...asked, scope }
        if (dryRun) return ok(await service.erasures.preview(workspace, request, signal))
        const erasure = await service.erasures.request(caller, workspace, request, signal)
        service.erasing.poke(workspaceId)
        return { status: 202, body: erasureJson(erasure) }
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/erasures",
      operation: "listErasures",
      summary: "List the erasures",
      description: "The requested erasures and their progress, newest first.",
      access: { action: "administer" },
      query: ListQuery,
      answers: { 200: ErasureList },
      handle: (call) =>
        listAnswer(service, "erasure", "erasures", call, {
          show: (erasures) => erasures.map(erasureJson),
        }),
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/erasures/{erasureId}",
      operation: "getErasure",
      summary: "Get an erasure",
      description: "The progress of an erasure, and who may have a copy of the destroyed content.",
      access: { action: "administer" },
      answers: { 200: Erasure },
      async handle({ params: { workspaceId, erasureId } }) {
        const { id } = await service.workspaces.get(workspaceId)
        const erasure = await required(service.store.registry, "erasure", id, erasureId)
        return ok(erasureJson(erasure))
      },
    }),
  ]
}

function erasureJson({
  id,
  workspace,
  value,
}: Document<"erasure"> | Listed<"erasure">): wire.Erasure {
  const { state, after: _, parts: __, forgets: ___, ...shown } = value
  return {
    erasureId: id,
    workspaceId: workspace,
    state: state === "held" || state === "done" ? state : "running",
    ...shown,
  }
}
