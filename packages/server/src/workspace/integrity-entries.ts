// A broken chain is recorded in the workspace `instance`, because the service no longer writes to
// the broken one.

import type { IntegrityFailure } from "../followers/health.ts"
import type { AccountParts } from "./accounts.ts"
import { draftOf } from "./admin-entries.ts"
import { instanceWorkspace } from "./permissions.ts"
import { makeInstance } from "./open-session.ts"

/**
 * Records a failure once, however often it is found again: the time of the first finding is part of
 * its key.
 */
export function createRecordIntegrityFailure({
  registry,
  ledger,
  workspaces,
  clock,
}: AccountParts): (seen: IntegrityFailure) => Promise<void> {
  return async ({ workspace, detail, sequence, foundMs }) => {
    // A broken ledger takes no entries. The log has the failure.
    if (workspace === instanceWorkspace) return
    await makeInstance(registry, workspaces)
    const found = sequence === undefined ? {} : { sequence }
    const act = {
      by: { kind: "instance" },
      action: "security.integrity.fail",
      target: { id: workspace, type: "workspace" },
      metadata: { workspaceId: workspace, detail, ...found },
    } as const
    const key = `${workspace} ${sequence ?? 0} ${foundMs ?? 0} ${sequence === undefined ? detail : ""}`
    const draft = {
      ...draftOf(act, clock.now()),
      idempotency: { route: "integrity", key },
    } as const
    await ledger.record(await workspaces.get(instanceWorkspace), [draft])
  }
}
