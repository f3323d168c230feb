// A consent becomes an entry about its subject: who agreed to which version of which project's
// policy, how, and where.

import type { JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import type { Draft } from "./ledger.ts"

export interface Consent {
  readonly subject: { readonly id: string; readonly email: string }
  readonly mode: "explicit" | "implicit"
  readonly policyVersion: number
  readonly surface: string
  readonly projectId: string
  readonly metadata: JsonObject
}

/** What the actor of every consent is. */
export const subjectType = "subject"

export function consentDraft(
  { subject, mode, policyVersion, surface, projectId, metadata }: Consent,
  receivedAtMs: number,
): Draft {
  return {
    kind: "consent",
    projectId,
    action: "policy.consent.record",
    actor: { ...subject, type: subjectType },
    target: {
      id: `${projectId}:${policyVersion}`,
      type: "policy",
      name: `Policy version ${policyVersion}`,
    },
    occurredAt: isoTime(receivedAtMs),
    source: "api",
    userVisible: true,
    metadata: { ...metadata, mode, surface, policyVersion },
    policyVersion,
    receivedAtMs,
  }
}
