// A broken chain is recorded in the workspace `instance`, because the service no longer writes to
// the broken one.

import type { IntegrityFailure } from "../followers/health.ts"
import { adminDraft, type AdminParts } from "./admin-entries.ts"
import { instanceWorkspace } from "./permissions.ts"
import { instanceOf, makeInstance } from "./open-session.ts"
import type { Workspaces } from "./workspaces.ts"

export interface IntegrityParts extends Omit<AdminParts, "keyring"> {
  readonly workspaces: Workspaces
}

/**
 * Records a failure once, however often it is found again: the time of the first finding is part of
 * its key.
 */
export function createRecordIntegrityFailure({
  registry,
  ledger,
  workspaces,
  clock,
}: IntegrityParts): (seen: IntegrityFailure) => Promise<void> {
  return async ({ workspace, detail, sequence, foundMs }) => {
    // A broken ledger takes no entries. The log has the failure.
    if (workspace === instanceWorkspace) return
    await makeInstance(registry, workspaces)
    const instance = await instanceOf(workspaces)
    const metadata = {
      workspaceId: workspace,
      detail,
      ...(sequence === undefined ? {} : { sequence }),
    }
    const said = adminDraft(
      { kind: "instance" },
      "security.integrity.fail",
      { id: workspace, type: "workspace" },
      metadata,
      clock.now(),
    )
    const key = `${workspace} ${sequence ?? 0} ${foundMs ?? 0} ${sequence === undefined ? detail : ""}`
    await ledger.record(instance, [{ ...said, idempotency: { route: "integrity", key } }])
  }
}
