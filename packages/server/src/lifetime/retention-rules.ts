// Which rule of a workspace says how long an entry's content is kept.

import type { Kind } from "@tallystick/proof"
import { dayMs } from "../clock.ts"
import { consentAction, withdrawalAction } from "../ledger/consent.ts"
import { beginsWith } from "../ledger/lane.ts"
import type { RetentionRule } from "../store/documents.ts"

/** The properties of an entry that rules match. */
export interface RuledEntry {
  readonly kind: Kind
  readonly projectId: string
  readonly lane: string
  readonly action: string
}

/**
 * The first rule that matches; undefined: the content is kept for ever. The service's own entries,
 * policies and consents only match rules that name them by their action. A withdrawal is kept as long
 * as a consent of the same day, in whichever lane, if that is longer.
 */
export function ruleOf(rules: readonly RetentionRule[], entry: RuledEntry): number | undefined {
  if (isLasting(entry)) return undefined
  const own = firstOf(rules, entry)
  if (!isWithdrawal(entry)) return own
  // Without its withdrawal, an older consent would be valid again. It may be in another lane, because
  // lanes have rules of their own, which change. The empty one stands for those that no rule names.
  const lanes = new Set([entry.lane, "", ...rules.flatMap(({ lane }) => lane ?? [])])
  let longest = own
  for (const lane of lanes) {
    const ofConsents = firstOf(rules, { ...entry, lane, action: consentAction })
    if (longest === undefined || ofConsents === undefined) return undefined
    if (daysOf(rules, longest) < daysOf(rules, ofConsents)) longest = ofConsents
  }
  return longest
}

function daysOf(rules: readonly RetentionRule[], rule: number): number {
  return rules[rule]?.days ?? Infinity
}

export function isWithdrawal({ kind, action }: Pick<RuledEntry, "kind" | "action">): boolean {
  return kind === "consent" && action === withdrawalAction
}

function firstOf(rules: readonly RetentionRule[], entry: RuledEntry): number | undefined {
  const at = rules.findIndex((rule) => {
    if (rule.action === undefined && entry.kind !== "event") return false
    if (rule.projectId !== undefined && rule.projectId !== entry.projectId) return false
    if (rule.lane !== undefined && rule.lane !== entry.lane) return false
    return rule.action === undefined || beginsWith(entry.action.toLowerCase(), rule.action)
  })
  return at < 0 ? undefined : at
}

/** Entries that were recorded before this time have expired. Days are those of UTC, and whole. */
export function expiredBefore({ days }: RetentionRule, nowMs: number): number {
  return Math.floor(nowMs / dayMs) * dayMs - days * dayMs
}

/** Acts of the service that change no document, so that nothing is rebuilt from them. */
const passingActs: ReadonlySet<string> = new Set([
  "policy.consent.lookup",
  "security.integrity.fail",
  "workspace.export",
  "workspace.events.export",
])

/**
 * Entries without which others cannot be understood: announcements of keys, records of destruction,
 * and every act from which the registry is rebuilt.
 */
function isLasting({ kind, action }: RuledEntry): boolean {
  switch (kind) {
    case "event":
    case "consent":
      return false
    case "admin":
      return !passingActs.has(action)
    case "policy":
    case "key":
    case "erasure":
    case "retention":
    case "anchor":
      return true
  }
}
