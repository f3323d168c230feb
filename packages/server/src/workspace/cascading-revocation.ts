// Revokes an API key together with everything made with it. A stolen key with the scope `admin` may
// have created keys and members, which may have created others. Scoped tokens need no revocation
// here: they end with their maker.

import { every } from "../store/all-documents.ts"
import type { Document } from "../store/store.ts"
import { recordPlanned, type Act, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { revocationOf } from "./api-keys.ts"
import { removalActOf } from "./members.ts"

/** What a key has made, directly or not, and what is still live. */
export interface MadeByKey {
  readonly keys: readonly Document<"api-key">[]
  /** Invited members, whether or not they have joined. */
  readonly members: readonly Document<"membership">[]
}

export interface Cascade {
  madeBy(workspace: string, keyId: string): Promise<MadeByKey>
  /**
   * Revokes a key and everything that it has made, in one commit if one can hold it. Returns what
   * it revoked, without the key itself.
   */
  revoke(by: Principal, workspace: Document<"workspace">, keyId: string): Promise<MadeByKey>
}

/** Entries in one commit: half of the most. */
const entriesAtOnce = 1000

export function createCascade({ registry, ledger, clock }: Omit<AdminParts, "keyring">): Cascade {
  return {
    madeBy,
    async revoke(by, workspace, keyId) {
      const ended = {
        keys: new Map<string, Document<"api-key">>(),
        members: new Map<string, Document<"membership">>(),
      }
      // Requests that were running during one commit may have made more: the next round finds it.
      for (;;) {
        const plan = await recordPlanned(ledger, workspace, async () => {
          const key = await registry.get("api-key", workspace.id, keyId)
          const { keys, members } = await madeBy(workspace.id, keyId)
          const nowMs = clock.now()
          const ending = [...(key === undefined ? [] : [key]), ...keys]
            .filter(isUnrevoked)
            .slice(0, entriesAtOnce)
          const leaving = members.slice(0, entriesAtOnce - ending.length)
          const removals = await Promise.all(
            leaving.map((one) => removalActOf(registry, by, one, nowMs)),
          )
          const acts = [...ending.map((one) => revocationOf(by, one, nowMs)), ...removals]
          return acts.length === 0 ? undefined : { ...joined(acts), ending, leaving }
        })
        if (plan === undefined)
          return { keys: [...ended.keys.values()], members: [...ended.members.values()] }
        for (const one of plan.ending) if (one.id !== keyId) ended.keys.set(one.id, one)
        for (const one of plan.leaving) ended.members.set(one.id, one)
      }
    },
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
    const made = new Map<string, Document<"api-key"> | Document<"membership">>()
    // A loop over a set also visits members added meanwhile. A revoked key may have made a live
    // one.
    const makers = new Set([keyId])
    for (const maker of makers) {
      for (const one of [...(keys.get(maker) ?? []), ...(members.get(maker) ?? [])]) {
        makers.add(one.id)
        made.set(one.id, one)
      }
    }
    const all = [...made.values()]
    return {
      keys: all.filter((one) => one.kind === "api-key").filter(isLive),
      members: all.filter((one) => one.kind === "membership"),
    }
  }

  function isLive(key: Document<"api-key">): boolean {
    const { expiresAt } = key.value
    return isUnrevoked(key) && (expiresAt === undefined || Date.parse(expiresAt) > clock.now())
  }
}

function isUnrevoked({ value }: Document<"api-key">): boolean {
  return value.revokedAt === undefined
}

function joined(acts: readonly Act[]): Act {
  return { said: acts.flatMap(({ said }) => said), changes: acts.flatMap(({ changes }) => changes) }
}
