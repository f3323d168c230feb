// Exports of a workspace, or of the matches of a filter, are recorded as administrative entries.

import type { JsonObject } from "@tallystick/proof"
import type { Workspace } from "../store/documents.ts"
import { recordActs, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"

type ExportParts = Pick<AdminParts, "ledger" | "clock">

export async function recordExport(
  { ledger, clock }: ExportParts,
  by: Principal,
  workspace: Workspace,
  entries: number,
): Promise<void> {
  const target = targetOf(workspace)
  const act = { by, action: "workspace.export", target, metadata: { entries } }
  await recordActs(ledger, workspace, [act], clock.now())
}

/** Its other members are metadata of the entry. */
interface EventsExport extends JsonObject {
  readonly filter: JsonObject
  readonly format: string
}

/**
 * Records that an export begins. Returns the receipt of the entry. A filter may name a person, so
 * it is a member of the target, which is sealed; metadata of the service's entries is not.
 */
export async function recordEventsExport(
  { ledger, clock }: ExportParts,
  by: Principal,
  workspace: Workspace,
  { filter, ...metadata }: EventsExport,
): Promise<string> {
  const target = { ...targetOf(workspace), filter }
  const act = { by, action: "workspace.events.export", target, metadata }
  const [{ content }] = await recordActs(ledger, workspace, [act], clock.now())
  return content.receipt
}

/** Records how many entries an export has given out, also when its reader left before the end. */
export async function recordEventsExportEnd(
  { ledger, clock }: ExportParts,
  by: Principal,
  workspace: Workspace,
  metadata: {
    readonly exportReceiptId: string
    readonly entries: number
    readonly complete: boolean
  },
): Promise<void> {
  const target = targetOf(workspace)
  const act = { by, action: "workspace.events.export.end", target, metadata }
  await recordActs(ledger, workspace, [act], clock.now())
}

function targetOf({ id, value: { name } }: Workspace) {
  return { id, type: "workspace", name }
}
