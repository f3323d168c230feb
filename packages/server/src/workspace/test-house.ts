// A test aid: workspaces over a store in memory.

import type { Clock } from "../clock.ts"
import { openTestLedger, testKeyring } from "../ledger/test-ledger.ts"
import { defaultLimits, type Limits } from "../limits.ts"
import { cacheRegistry } from "../store/cached-documents.ts"
import { openMemory } from "../store/memory.ts"
import type { Journal, Registry } from "../store/store.ts"
import type { Principal } from "./permissions.ts"
import { createWorkspaces } from "./workspaces.ts"

export const instance: Principal = { kind: "instance" }

interface Bend {
  readonly limits?: Partial<Limits>
  readonly registry?: (registry: Registry) => Registry
  /** Called before a group is stored. */
  readonly append?: () => void
}

export function openTestHouse({
  limits: changes,
  registry: bend = (registry) => registry,
  append = () => {},
}: Bend = {}) {
  const { served, watched } = openMemory()
  /** A clock that stands still unless the test moves it. */
  const clock: Clock & { nowMs: number } = {
    nowMs: Date.UTC(2026, 0, 2),
    now: () => clock.nowMs,
    elapsed: () => 0,
    sleep: () => new Promise((resolve) => void setImmediate(resolve)),
  }
  // Like the SQLite driver: documents are cached, and dropped when a change of them was stored.
  const registry = cacheRegistry(bend(served.registry))
  const journal: Journal = {
    ...served.journal,
    async append(group) {
      append()
      const outcome = await served.journal.append(group)
      if (outcome.kind === "done") registry.forget(group.workspace, group.changes ?? [])
      return outcome
    },
  }
  const limits = { ...defaultLimits, ...changes }
  const parts = {
    registry,
    ledger: openTestLedger(journal, { clock, limits }),
    clock,
    keyring: testKeyring,
    limits,
  }
  const workspaces = createWorkspaces({ ...parts, host: "ledger.example" })
  return {
    served: { ...served, journal, registry },
    watched,
    journal,
    registry,
    clock,
    parts,
    workspaces,
  }
}
