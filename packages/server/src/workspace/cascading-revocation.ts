// What a key with the scope `admin` has made, and what that has made in turn: who ends a key that was in wrong hands wants to see it, and to end it as well.
// Scoped tokens end with their makers by themselves.

import type { Clock } from "../clock.ts"
import type { Ledger } from "../ledger/ledger.ts"
import { every } from "../store/every.ts"
import type { Document, Registry } from "../store/store.ts"
import { recordPlanned, type Act } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { revocationOf } from "./api-keys.ts"
import { removalActOf } from "./members.ts"

/** As far as it lives. */
export interface MadeByKey {
  readonly keys: readonly Document<"api-key">[]
  /** Those who were invited, whether or not they have joined. */
  readonly members: readonly Document<"membership">[]
}

export interface Cascade {
  madeBy(workspace: string, keyId: string): Promise<MadeByKey>
  /** Ends a key and all of this, in one commit unless it is more than that can hold. Answers what it has ended beside the key. */
  revoke(by: Principal, workspace: Document<"workspace">, keyId: string): Promise<MadeByKey>
}

export interface CascadeParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
}

/** Entries of one commit: half of what one takes. */
const entriesAtOnce = 1000

export function createCascade({ registry, ledger, clock }: CascadeParts): Cascade {
  return {
    madeBy,
    async revoke(by, workspace, keyId) {
      const ended = { keys: new Map<string, Document<"api-key">>(), members: new Map<string, Document<"membership">>() }
      // Whatever was under way when the first commit ended it is found by another look.
      for (;;) {
        const plan = await recordPlanned(ledger, workspace, async () => {
          const key = await registry.get("api-key", workspace.id, keyId)
          const { keys, members } = await madeBy(workspace.id, keyId)
          const nowMs = clock.now()
          const ending = [...(key === undefined ? [] : [key]), ...keys].filter(isUnrevoked).slice(0, entriesAtOnce)
          const leaving = members.slice(0, entriesAtOnce - ending.length)
          const removals = await Promise.all(leaving.map((one) => removalActOf(registry, by, one, nowMs)))
          const acts = [...ending.map((one) => revocationOf(by, one, nowMs)), ...removals]
          return acts.length === 0 ? undefined : { ...joined(acts), ending, leaving }
        })
        if (plan === undefined) return { keys: [...ended.keys.values()], members: [...ended.members.values()] }
        for (const one of plan.ending) if (one.id !== keyId) ended.keys.set(one.id, one)
        for (const one of plan.leaving) ended.members.set(one.id, one)
      }
    },
  }

  async function madeBy(workspace: string, keyId: string): Promise<MadeByKey> {
    const key = await registry.get("api-key", workspace, keyId)
    if (key?.value.scopes.includes("admin") !== true) return { keys: [], members: [] }
    const keys = Map.groupBy(await Array.fromAsync(every(registry, "api-key", workspace)), ({ value }) => value.createdBy)
    const members = Map.groupBy(await Array.fromAsync(every(registry, "membership", workspace)), ({ value }) => value.createdBy)
    const made = new Map<string, Document<"api-key"> | Document<"membership">>()
    // A set hands out what is added to it while it is walked. What has ended may have made what lives.
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
