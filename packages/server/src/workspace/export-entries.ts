// That a workspace was exported is an administrative act, whoever writes its files.

import type { Clock } from "../clock.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Document } from "../store/store.ts"
import { actSaid } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"

export interface ExportParts {
  readonly ledger: Ledger
  readonly clock: Clock
}

export async function recordExport(
  { ledger, clock }: ExportParts,
  by: Principal,
  workspace: Document<"workspace">,
  entries: number,
): Promise<void> {
  const target = { id: workspace.id, type: "workspace", name: workspace.value.name }
  await ledger.record(workspace, [actSaid(by, "workspace.export", target, { entries }, clock.now())])
}
