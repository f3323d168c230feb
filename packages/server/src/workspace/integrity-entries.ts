// A chain that does not hold together is recorded in the workspace `instance`: its own cannot be written to any more.

import type { Clock } from "../clock.ts"
import type { IntegrityFailure } from "../followers/health.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Registry } from "../store/store.ts"
import { actSaid } from "./admin-entries.ts"
import { instanceWorkspace } from "./permissions.ts"
import { instanceOf, makeInstance } from "./open-session.ts"
import type { Workspaces } from "./workspaces.ts"

export interface IntegrityParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly workspaces: Workspaces
  readonly clock: Clock
}

/** Records a break, once however often it is found again: by when it was found first. */
export function createRecordIntegrityFailure({
  registry,
  ledger,
  workspaces,
  clock,
}: IntegrityParts): (seen: IntegrityFailure) => Promise<void> {
  return async ({ workspace, detail, sequence, foundMs }) => {
    // Nothing can be added to a ledger that is broken itself; the log has it.
    if (workspace === instanceWorkspace) return
    await makeInstance(registry, workspaces)
    const instance = await instanceOf(workspaces)
    const metadata = { workspaceId: workspace, detail, ...(sequence === undefined ? {} : { sequence }) }
    const said = actSaid({ kind: "instance" }, "security.integrity.fail", { id: workspace, type: "workspace" }, metadata, clock.now())
    const key = `${workspace} ${sequence ?? 0} ${foundMs ?? 0} ${sequence === undefined ? detail : ""}`
    await ledger.record(instance, [{ ...said, idempotency: { route: "integrity", key } }])
  }
}
