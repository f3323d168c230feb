// What is read of a ledger at large, or about one person, is recorded as an administrative entry: an
// export of a workspace or of the matches of a filter, and a look-up of a person's consents.

import type { JsonObject } from "@tallystick/proof"
import type { Workspace } from "../store/documents.ts"
import { recordActs, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"

/** Records an export of a whole workspace. */
export function recordExport(
  parts: RecordingParts,
  by: Principal,
  workspace: Workspace,
  entries: number,
): Promise<string> {
  return record(parts, by, workspace, { action: "workspace.export", metadata: { entries } })
}

/** Its other members are metadata of the entry. */
interface EventsExport extends JsonObject {
  readonly filter: JsonObject
  readonly format: string
}

/** Records that an export begins. Returns the receipt of the entry. */
export function recordEventsExport(
  parts: RecordingParts,
  by: Principal,
  workspace: Workspace,
  { filter, ...metadata }: EventsExport,
): Promise<string> {
  const action = "workspace.events.export"
  return record(parts, by, workspace, { action, sealed: { filter }, metadata })
}

/** Records how many entries an export has given out, also when its reader left before the end. */
export function recordEventsExportEnd(
  parts: RecordingParts,
  by: Principal,
  workspace: Workspace,
  metadata: {
    readonly exportReceiptId: string
    readonly entries: number
    readonly complete: boolean
  },
): Promise<string> {
  return record(parts, by, workspace, { action: "workspace.events.export.end", metadata })
}

/** Records whose consents somebody looks up, and why. Returns the receipt of the entry. */
export function recordConsentLookup(
  parts: RecordingParts,
  by: Principal,
  workspace: Workspace,
  { subject, reason }: { readonly subject: string; readonly reason?: string | undefined },
  metadata: JsonObject = {},
): Promise<string> {
  const sealed = { subject, ...(reason !== undefined && { reason }) }
  return record(parts, by, workspace, { action: "policy.consent.lookup", sealed, metadata })
}

type RecordingParts = Pick<AdminParts, "ledger" | "clock">

/**
 * A filter, a subject or a reason may name a person, so they are members of the target, which are
 * sealed; metadata of the service's entries is not.
 */
async function record(
  { ledger, clock }: RecordingParts,
  by: Principal,
  workspace: Workspace,
  read: { readonly action: string; readonly sealed?: JsonObject; readonly metadata: JsonObject },
): Promise<string> {
  const { sealed, ...said } = read
  const target = { id: workspace.id, type: "workspace", name: workspace.value.name, ...sealed }
  const [{ content }] = await recordActs(ledger, workspace, [{ by, target, ...said }], clock.now())
  return content.receipt
}
