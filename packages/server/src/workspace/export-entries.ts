// An export of a workspace is recorded as an administrative entry.

import type { Document } from "../store/store.ts"
import { recordActs, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"

export async function recordExport(
  { ledger, clock }: Pick<AdminParts, "ledger" | "clock">,
  by: Principal,
  workspace: Document<"workspace">,
  entries: number,
): Promise<void> {
  const target = { id: workspace.id, type: "workspace", name: workspace.value.name }
  const act = { by, action: "workspace.export", target, metadata: { entries } }
  await recordActs(ledger, workspace, [act], clock.now())
}
