// Revokes an API key together with everything made with it. A stolen key with the scope `admin` may
// have created keys and members, which may have created others. Scoped tokens need no revocation
// here: they end with their maker.

import { createOneAtATime } from "../runtime/one-at-a-time.ts"
import { every } from "../store/all-documents.ts"
import type { Document, Membership, Workspace } from "../store/documents.ts"
import { recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { revocationOf } from "./api-keys.ts"
import { memberRemoval } from "./members.ts"

/** Live keys and members that a key has made, directly or through others. */
export interface MadeByKey {
  readonly keys: readonly Document<"api-key">[]
  /** Invited members, whether or not they have joined. */
  readonly members: readonly Membership[]
}

export interface Cascade {
  madeBy(workspace: string, keyId: string): Promise<MadeByKey>
  /**
   * Revokes a key and everything that it has made, in one commit if one can hold it. Returns what
   * it revoked, without the key itself.
   */
  revoke(by: Principal, workspace: Workspace, keyId: string): Promise<MadeByKey>
}

/** Entries in one commit: half of the most, and no more than may wait for it. */
const entriesMax = 1000

export function createCascade(parts: AdminParts): Cascade {
  const { registry, clock, limits } = parts
  const entriesAtOnce = Math.min(entriesMax, limits.queuedEventsMax)
  /** Each reads all keys and members of its workspace, of which there may be very many. */
  const inTurn = createOneAtATime()
  return {
    madeBy: (workspace, keyId) => inTurn(workspace, () => madeBy(workspace, keyId)),
    revoke: (by, workspace, keyId) => inTurn(workspace.id, () => revoke(by, workspace, keyId)),
  }

  async function revoke(by: Principal, workspace: Workspace, keyId: string): Promise<MadeByKey> {
    const ended = new Map<string, Document<"api-key"> | Membership>()
    // Requests that were running during one commit may have made more: the next round finds it.
    for (;;) {
      const round = await recordPlanned(parts, workspace, async (nowMs) => {
        const key = await registry.get("api-key", workspace.id, keyId)
        const { keys, members } = await madeBy(workspace.id, keyId)
        const ending = [...(key === undefined ? [] : [key]), ...keys]
          .filter(isUnrevoked)
          .slice(0, entriesAtOnce)
        const leaving = members.slice(0, entriesAtOnce - ending.length)
        const acts = [
          ...ending.map((one) => revocationOf(by, one, nowMs)),
          ...(await Promise.all(leaving.map((one) => memberRemoval(registry, by, one)))),
        ]
        return acts.length === 0 ? undefined : { acts, ending: [...ending, ...leaving] }
      })
      if (round === undefined) return byKind(ended.values())
      for (const one of round.ending) if (one.id !== keyId) ended.set(one.id, one)
    }
  }

  async function madeBy(workspace: string, keyId: string): Promise<MadeByKey> {
    const key = await registry.get("api-key", workspace, keyId)
    if (key?.value.scopes.includes("admin") !== true) return { keys: [], members: [] }
    const keys = Map.groupBy(
      await Array.fromAsync(every(registry, "api-key", workspace)),
      ({ value }) => value.createdBy,
    )
    const members = Map.groupBy(
      await Array.fromAsync(every(registry, "membership", workspace)),
      ({ value }) => value.createdBy,
    )
    const made = new Map<string, Document<"api-key"> | Membership>()
    // A loop over a set also visits members added meanwhile. A revoked key may have made a live
    // one.
    const makers = new Set([keyId])
    for (const maker of makers) {
      for (const one of [...(keys.get(maker) ?? []), ...(members.get(maker) ?? [])]) {
        makers.add(one.id)
        made.set(one.id, one)
      }
    }
    const { keys: allKeys, members: allMembers } = byKind(made.values())
    return { keys: allKeys.filter(isLive), members: allMembers }
  }

  function isLive(key: Document<"api-key">): boolean {
    const { expiresAt } = key.value
    return isUnrevoked(key) && (expiresAt === undefined || Date.parse(expiresAt) > clock.now())
  }
}

function isUnrevoked({ value }: Document<"api-key">): boolean {
  return value.revokedAt === undefined
}

function byKind(all: Iterable<Document<"api-key"> | Membership>): MadeByKey {
  const documents = [...all]
  return {
    keys: documents.filter((one) => one.kind === "api-key"),
    members: documents.filter((one) => one.kind === "membership"),
  }
}
