// Exports of entries.

import { Readable } from "node:stream"
import { LedgerError } from "../../error.ts"
import { createRecognise } from "../authenticate.ts"
import { changeable, endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { EventsExportQuery, ExportedCsv, ExportedLines } from "../shapes/page.ts"
import { Bytes } from "../shapes/path.ts"
import { storageOf, wantedOf } from "./query-endpoints.ts"

const mediaTypes = {
  jsonl: "application/jsonl",
  csv: "text/csv; charset=utf-8; header=present",
  parquet: "application/vnd.apache.parquet",
} as const

const access = { action: "read", isRecorded: true } as const

export function exportEndpoints(service: Service): readonly ServiceEndpoint[] {
  const recognise = createRecognise(service)
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/events/export",
      operation: "exportEvents",
      summary: "Export entries",
      description:
        "All entries that match a filter and a search, oldest first, as one file of any size: JSON lines, CSV or Parquet. It does not contain entries that are recorded after its beginning. The ledger records who exported what, and how many entries were sent. If the export fails, the connection is closed early. A complete file of JSON lines ends with a line that has the number of lines before it and their hash.",
      access,
      query: EventsExportQuery,
      answers: { 200: ExportedLines },
      answerType: mediaTypes.jsonl,
      alsoAnswers: [
        { type: "text/csv", shape: ExportedCsv },
        { type: mediaTypes.parquet, shape: Bytes },
      ],
      answerHeaders: ["X-Ledger-Sequence", "X-Ledger-Receipt"],
      async handle({ caller, params: { workspaceId }, query: asked, incoming }) {
        const { method, signal } = incoming
        const { format, after, include, ...filter } = asked
        if (include !== undefined && format !== "jsonl")
          throw new LedgerError("invalid_field", "include=proof needs format=jsonl")
        // The filter is recorded, and no entry may contain it.
        if (filter.query?.includes("\0") === true)
          throw new LedgerError("invalid_field", "query contains the character U+0000")
        const request = {
          wanted: wantedOf(caller, filter),
          storage: storageOf(filter),
          format,
          after,
          isProven: include !== undefined,
          filter: { ...filter },
          recheck: () => recognise(incoming, { access }),
        }
        const workspace = await changeable(service, workspaceId)
        const headers = { "content-type": mediaTypes[format] }
        // HEAD sends no content, so nothing is recorded.
        if (method === "HEAD") return { status: 200, body: Readable.from([]), headers }
        const { sequence, receipt, content } = await service.entryExports.begin(
          caller,
          workspace,
          request,
          signal,
        )
        return {
          status: 200,
          body: content,
          headers: {
            ...headers,
            "content-disposition": `attachment; filename="${workspaceId}-${sequence}.${format}"`,
            "x-ledger-sequence": String(sequence),
            "x-ledger-receipt": receipt,
          },
        }
      },
    }),
  ]
}
