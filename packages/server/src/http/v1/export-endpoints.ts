// Records exports before they are made. The export command then writes its files from the data
// folder itself, and a page reads what was found, page by page.

import { recordEventsExport, recordExport } from "../../workspace/export-entries.ts"
import { changeable, endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { EventsExport, NewEventsExport, NewExport } from "../shapes/export-request.ts"
import { WorkspaceParams } from "../shapes/path.ts"
import { filteredFor } from "./query-endpoints.ts"

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
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/events/exports",
      operation: "recordEventsExport",
      tag: "Reading",
      summary: "Record an export of entries",
      description:
        "Records who is about to read the entries of this filter into a file, and how many they are. The dashboard asks this before each export.",
      refuses: ["overloaded"],
      access: { action: "read" },
      params: WorkspaceParams,
      body: NewEventsExport,
      answers: { 201: EventsExport },
      async handle({ caller, params: { workspaceId }, body, incoming: { signal } }) {
        const workspace = await changeable(service, workspaceId)
        const found = filteredFor(caller, body.filter)
        const { total: entries } = await service.queries.page(
          workspace,
          { ...found, cursor: 0, limit: 1, isProven: false, signal },
          service.clock.now(),
        )
        const asked = { ...body, entries }
        const exportReceiptId = await recordEventsExport(service, caller, workspace, asked)
        return { status: 201, body: { entries, exportReceiptId } }
      },
    }),
  ]
}
