// Records that a workspace is exported. The export command calls this, and then writes the files
// from the data folder itself.

import { recordExport } from "../../workspace/export-entries.ts"
import { changeable, endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { NewExport } from "../shapes/export-request.ts"
import { WorkspaceParams } from "../shapes/path.ts"

export function exportEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/exports",
      operation: "recordExport",
      tag: "Workspaces",
      summary: "Record an export",
      description:
        "Records in the workspace's own ledger that it is exported. `tallystick export` asks this before it writes the files.",
      access: { action: "preside" },
      params: WorkspaceParams,
      body: NewExport,
      answers: { 204: null },
      async handle({ caller, params: { workspaceId }, body: { entries } }) {
        await recordExport(service, caller, await changeable(service, workspaceId), entries)
        return { status: 204 }
      },
    }),
  ]
}
