// Legal holds: contents under a hold are neither expired nor erased.

import type * as wire from "@tallystick/client/wire"
import type { JsonObject } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import type { IsHeld } from "../../query/verified-entries.ts"
import { requireOrder, wantedIn } from "../../query/entry-filter.ts"
import type { HoldScope, Listed } from "../../store/documents.ts"
import { makerOf } from "../../workspace/makers.ts"
import { required } from "../../workspace/required-document.ts"
import { created, ok } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  listAnswer,
  type Caller,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { Hold, HoldList, HoldRelease, newHoldOf } from "../shapes/hold.ts"
import { ListQuery } from "../shapes/list.ts"

export function holdEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/holds",
      operation: "placeHold",
      summary: "Place a hold",
      description:
        "Protects the content of entries from expiry and erasure until the hold is released. It covers entries that match a filter, now and later, entries about a subject, or single receipts.",
      access: { action: "administer" },
      body: newHoldOf(service.limits.holdReceiptsMax),
      answers: { 201: Hold },
      async handle({ caller, params: { workspaceId }, body: { name, reason, ...asked } }) {
        const workspace = await changeable(service, workspaceId)
        const scope = scopeOf(asked)
        const hold = await service.holds.place(caller, workspace, { name, reason, scope })
        return created(await holdJson(service, hold))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/holds",
      operation: "listHolds",
      summary: "List the holds",
      description: "All holds, newest first, including released ones.",
      access: { action: "administer" },
      query: ListQuery,
      answers: { 200: HoldList },
      handle: (call) =>
        listAnswer(service, "hold", "holds", call, {
          show: (holds) => Promise.all(holds.map((hold) => holdJson(service, hold))),
        }),
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/holds/{holdId}",
      operation: "getHold",
      summary: "Get a hold",
      description: "A hold, with the entries that it covers.",
      access: { action: "administer" },
      answers: { 200: Hold },
      async handle({ params: { workspaceId, holdId } }) {
        const { id } = await service.workspaces.get(workspaceId)
        const hold = await required(service.store.registry, "hold", id, holdId)
        return ok(await holdJson(service, hold))
      },
    }),
    endpoint({
      route: "DELETE /v1/workspaces/{workspaceId}/holds/{holdId}",
      operation: "releaseHold",
      summary: "Release a hold",
      description:
        "Entries that no other hold covers may expire again, and erasures that waited for this hold are carried out. The hold stays in the list. A repeated request changes nothing.",
      access: { action: "administer" },
      body: HoldRelease,
      answers: { 200: Hold },
      async handle({ caller, params: { workspaceId, holdId }, body: { reason } }) {
        const workspace = await changeable(service, workspaceId)
        const hold = await service.holds.release(caller, workspace, holdId, reason)
        service.erasing.poke(workspaceId)
        return ok(await holdJson(service, hold))
      },
    }),
  ]
}

/**
 * Whether an entry is held, for callers who may read the workspace. The holds are read while the
 * caller reads entries.
 */
export function heldFor({ holds }: Service, caller: Caller, workspace: string): IsHeld | undefined {
  if (caller === undefined || caller.kind === "token") return undefined
  const reading = holds.on(workspace)
  // Its error belongs to the first entry, if there is one.
  reading.catch(() => {})
  return async (stored) => {
    const holdsOf = await reading
    return (await holdsOf(stored)).length > 0
  }
}

function scopeOf({ filter, subject, receiptIds }: wire.HoldScope): HoldScope {
  const given = [filter, subject, receiptIds].filter((one) => one !== undefined)
  if (given.length !== 1)
    throw new LedgerError("invalid_field", "give one of filter, subject and receiptIds")
  if (subject !== undefined) return { subject }
  if (receiptIds !== undefined) return { receiptIds }
  // Throws for a malformed search.
  requireOrder(wantedIn(filter ?? {}, undefined, "filter."), "filter.")
  // It was read from JSON.
  return { filter: { ...filter } as unknown as JsonObject }
}

async function holdJson(
  { store }: Service,
  { id, workspace, value }: Pick<Listed<"hold">, "id" | "workspace" | "value">,
): Promise<wire.Hold> {
  const { name, reason, scope, createdAt, createdBy, released } = value
  return {
    holdId: id,
    name,
    reason,
    // It had this form in the request.
    ...(scope as unknown as wire.HoldScope),
    createdAt,
    createdBy: await makerOf(store.registry, workspace, createdBy),
    state: released === undefined ? "active" : "released",
    ...(released && { releasedAt: released.at, releaseReason: released.reason }),
  }
}
