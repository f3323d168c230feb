// A look-up of a person's consents is recorded as an administrative entry.

import type { JsonObject } from "@tallystick/proof"
import type { Workspace } from "../store/documents.ts"
import { recordActs, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"

/** Whose consents somebody looks up, and why. */
export interface ConsentLookup {
  readonly subject: string
  readonly reason?: string | undefined
}

/**
 * Returns the receipt of the entry. Subject and reason name a person, so they are members of the
 * target, which are sealed. The other parameters are metadata, which is not sealed in the service's
 * own entries.
 */
export async function recordConsentLookup(
  { ledger, clock }: Pick<AdminParts, "ledger" | "clock">,
  by: Principal,
  workspace: Workspace,
  { subject, reason }: ConsentLookup,
  metadata: JsonObject = {},
): Promise<string> {
  const target = {
    id: workspace.id,
    type: "workspace",
    name: workspace.value.name,
    subject,
    ...(reason !== undefined && { reason }),
  }
  const act = { by, action: "policy.consent.lookup", target, metadata }
  const [{ content }] = await recordActs(ledger, workspace, [act], clock.now())
  return content.receipt
}
