// Every administrative act is an entry, committed together with what it changes. Only the service writes this kind.

import type { JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import type { Party } from "../entry.ts"
import type { Said } from "../ledger/ledger.ts"
import type { Principal } from "./allow.ts"

/** The project that the service's own entries belong to; no caller can choose it. */
export const systemProject = "system"

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
  }
}
