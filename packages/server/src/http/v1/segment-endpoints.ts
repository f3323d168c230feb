// The files of the archive that have the bodies of a workspace's old entries.

import { endpoint, listAnswer, type Service, type ServiceEndpoint } from "../service.ts"
import { ListQuery } from "../shapes/list.ts"
import { ArchiveSegmentList } from "../shapes/segment.ts"

export function segmentEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/segments",
      operation: "listSegments",
      tag: "Retention",
      summary: "List the archive segments",
      description:
        "The archive files that contain the bodies of old entries, newest first. Records, receipts and sealed fields stay in the database.",
      access: { action: "read" },
      query: ListQuery,
      answers: { 200: ArchiveSegmentList },
      handle: (call) =>
        listAnswer(service, "archive-segment", "segments", call, {
          show: (segments) =>
            segments.map(({ value: { first, last, ...segment } }) => ({
              ...segment,
              firstSequence: first,
              lastSequence: last,
            })),
        }),
    }),
  ]
}
