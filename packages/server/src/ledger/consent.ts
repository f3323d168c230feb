// Makes entries of consents and withdrawals. The entry is about the subject: who agreed to which
// version of which project's policy, how, and where, or who withdrew that.

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

export interface Withdrawal {
  readonly subject: { readonly id: string; readonly email?: string | undefined }
  /** Undefined: every version of the project's policy. */
  readonly policyVersion?: number | undefined
  readonly surface: string
  readonly projectId: string
  readonly metadata: JsonObject
}

/** The type of the actor of every consent. */
export const subjectType = "subject"

export const consentAction = "policy.consent.record"
export const withdrawalAction = "policy.consent.withdraw"

export function consentDraft(
  { subject, mode, policyVersion, surface, projectId, metadata }: Consent,
  receivedAtMs: number,
): Draft {
  return {
    ...draftOf(consentAction, projectId, receivedAtMs),
    actor: { ...subject, type: subjectType },
    target: versionTarget(projectId, policyVersion),
    metadata: { ...metadata, mode, surface, policyVersion },
    policyVersion,
  }
}

export function withdrawalDraft(
  { subject: { id, email }, policyVersion, surface, projectId, metadata }: Withdrawal,
  receivedAtMs: number,
): Draft {
  return {
    ...draftOf(withdrawalAction, projectId, receivedAtMs),
    actor: { id, ...(email !== undefined && { email }), type: subjectType },
    target:
      policyVersion === undefined
        ? { id: projectId, type: policyType, name: "Policy" }
        : versionTarget(projectId, policyVersion),
    metadata: { ...metadata, surface, ...(policyVersion !== undefined && { policyVersion }) },
    policyVersion,
  }
}

const policyType = "policy"

function versionTarget(projectId: string, version: number): Draft["target"] {
  return { id: `${projectId}:${version}`, type: policyType, name: `Policy version ${version}` }
}

function draftOf(action: string, projectId: string, receivedAtMs: number) {
  return {
    kind: "consent",
    projectId,
    action,
    occurredAt: isoTime(receivedAtMs),
    source: "api",
    userVisible: true,
    receivedAtMs,
  } as const
}
