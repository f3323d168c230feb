// That a workspace is exported. The command writes the files by itself, from the data folder; here it has that recorded first.

import { recordExport } from "../../workspace/exports.ts"
import { endpoint, permit, permitWriting, type Service, type ServiceEndpoint } from "../service.ts"
import { NewExport } from "../shapes/export.ts"
import { WorkspaceParams } from "../shapes/path.ts"

export function exportEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/exports",
      summary: "Record that the workspace is exported; `tallystick export` asks this before it writes",
      access: { action: "preside" },
      params: WorkspaceParams,
      body: NewExport,
      answers: { 204: null },
      async handle({ caller, params: { workspaceId }, body: { entries } }) {
        permit(caller, "preside", workspaceId)
        permitWriting(service, workspaceId)
        await recordExport(service, caller, await service.workspaces.get(workspaceId), entries)
        return { status: 204 }
      },
    }),
  ]
}
