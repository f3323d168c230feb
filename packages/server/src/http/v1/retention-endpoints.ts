// Retention: a preview of what rules would expire, expiry on demand, and the files of the archive
// that have the bodies of old entries.

import { LedgerError } from "../../error.ts"
import type { RetentionRule, Workspace } from "../../store/documents.ts"
import { ok } from "../endpoint.ts"
import { changeable, endpoint, type Service, type ServiceEndpoint, listAnswer } from "../service.ts"
import {
  RetentionCounting,
  RetentionPreview,
  RetentionPreviewRequest,
  RetentionRun,
  ArchiveSegmentList,
} from "../shapes/retention.ts"
import { Nothing } from "../shapes/member.ts"
import { ListQuery } from "../shapes/list.ts"

export function retentionEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/retention/preview",
      operation: "previewRetention",
      summary: "Preview retention rules",
      description:
        "Counts the entries whose contents these rules would destroy today, by rule, lane, project and month, and changes nothing. 202: a large ledger is still being counted; ask again.",
      access: { action: "administer" },
      body: RetentionPreviewRequest,
      bodyMayBeAbsent: true,
      answers: { 200: RetentionPreview, 202: RetentionCounting },
      async handle({ params: { workspaceId }, body: { retention } }) {
        const workspace = await service.workspaces.get(workspaceId)
        const rules = retention ?? workspace.value.retention ?? []
        const { previews, limits } = service
        const { preview, counted, of } = await previews.count(
          workspace,
          rules,
          limits.previewWaitMs,
        )
        return preview === undefined ? { status: 202, body: { counted, of } } : ok(preview)
      },
    }),
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/retention/run",
      operation: "runRetention",
      summary: "Expire contents now",
      description:
        "Destroys expired contents, as the service does once a day. The entries stay, with their hashes and proofs. 202: it takes longer and continues; ask again to wait for its end.",
      access: { action: "administer" },
      body: Nothing,
      bodyMayBeAbsent: true,
      answers: { 200: RetentionRun, 202: RetentionRun },
      async handle({ caller, params: { workspaceId } }) {
        const workspace = await changeable(service, workspaceId)
        const { expiry, expiryFailed, clock, limits, metrics } = service
        const running = expiry.run(caller, workspace).then((done) => {
          if (done !== undefined && done.isShared !== true) metrics.expired(done)
          return { done }
        })
        const ended = await Promise.race([running, clock.sleep(limits.previewWaitMs)])
        if (ended === undefined) {
          running.catch((error: unknown) => expiryFailed(workspaceId, error))
          return { status: 202, body: { isRunning: true, entries: 0, held: 0 } }
        }
        if (ended.done === undefined)
          throw new LedgerError("conflict", "another server of this ledger expires its contents")
        const { entries, held } = ended.done
        return ok({ isRunning: false, entries, held })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/segments",
      operation: "listSegments",
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

/**
 * Throws if new rules would expire existing entries, unless the caller has seen a preview: a typing
 * error must not destroy seven years.
 */
export async function confirmRetention(
  { previews, limits }: Service,
  workspace: Workspace,
  rules: readonly RetentionRule[],
  token: string | undefined,
): Promise<void> {
  if (token !== undefined && previews.isConfirmed(workspace.id, rules, token)) return
  const { preview } = await previews.count(workspace, rules, limits.previewWaitMs)
  if (preview !== undefined && preview.entries + preview.held === 0) return
  const wrong = token === undefined ? "" : "confirm is not the token of these rules; "
  const what =
    preview === undefined
      ? "these rules would expire entries that exist, or are still being counted"
      : `these rules would expire the contents of ${preview.entries} entries that exist`
  throw new LedgerError(
    "conflict",
    `${wrong}${what}: preview them (POST …/retention/preview), and send the token of the preview as confirm`,
  )
}
