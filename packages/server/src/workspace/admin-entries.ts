// Every administrative act is an entry, committed together with what it changes. Only the service writes this kind.

import type { JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import type { Party } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import type { Ledger, Said } from "../ledger/ledger.ts"
import { systemProject } from "../store/filed.ts"
import type { Change, Document } from "../store/store.ts"
import type { Principal } from "./permissions.ts"

export function actSaid(by: Principal, action: string, target: Party, metadata: JsonObject, nowMs: number): Said {
  return {
    kind: "admin",
    projectId: systemProject,
    action,
    actor: actorOf(by),
    target,
    occurredAt: isoTime(nowMs),
    source: "system",
    userVisible: false,
    metadata,
    receivedAtMs: nowMs,
  }
}

/** The name under which an act is remembered. */
export function nameOf(by: Principal): string {
  return actorOf(by).id
}

function actorOf(by: Principal): Party {
  switch (by.kind) {
    case "instance":
      return { id: "instance", type: "instance" }
    case "api-key":
      return { id: by.id, type: "api_key" }
    case "token":
      return { id: by.id, type: "token" }
    case "member":
      return { id: by.id, type: "member", email: by.email }
  }
}

/** Entries, and the changes that they record. */
export interface Act {
  readonly said: readonly Said[]
  readonly changes: readonly Change[]
}

/**
 * Records what `plan` makes of things as they are. When somebody else has changed them at the same moment it is planned again, from what is there then:
 * somebody wins each race, so it ends. A plan that is undefined has nothing to do.
 */
export async function recordPlanned<A extends Act | undefined>(
  ledger: Ledger,
  workspace: Document<"workspace">,
  plan: () => Promise<A>,
): Promise<A> {
  for (;;) {
    const act = await plan()
    if (act === undefined) return act
    try {
      await ledger.record(workspace, act.said, act.changes)
      return act
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

/** Somebody else changed the same thing at the same moment. */
export function isConflict(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "conflict"
}
