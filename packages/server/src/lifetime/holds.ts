// Legal holds: an entry under a hold is neither expired nor erased until the hold is released.

import type { JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { SharedPace } from "../runtime/pace.ts"
import { every } from "../store/all-documents.ts"
import {
  changed,
  created,
  type Person,
  type HoldDocument,
  type HoldScope,
  type Document,
  type Workspace,
} from "../store/documents.ts"
import { readState, stateChange } from "../store/retention-state.ts"
import type { JournalReader, Registry } from "../store/store.ts"
import { nameOf, recordPlanned, type AdminParts } from "../workspace/admin-entries.ts"
import type { Principal } from "../workspace/permissions.ts"
import { required } from "../workspace/required-document.ts"
import { entriesInBatches } from "./entries-in-batches.ts"
import { createHoldsOf, type ActiveHold, type HoldsOf } from "./held-entries.ts"

export interface HoldRequest {
  readonly name: string
  readonly reason: string
  readonly scope: HoldScope
}

export interface Holds {
  place(by: Principal, workspace: Workspace, request: HoldRequest): Promise<Document<"hold">>
  /** Does nothing if the hold is released already. */
  release(
    by: Principal,
    workspace: Workspace,
    id: string,
    reason: string,
  ): Promise<Document<"hold">>
  active(workspace: string): Promise<readonly ActiveHold[]>
  /** The ids of the holds on a person, or on one of these entries, as they are stored now. */
  among(
    workspace: string,
    subject: Person,
    sequences: readonly number[],
    signal?: AbortSignal,
  ): Promise<readonly string[]>
  /**
   * Answers for each entry which holds cover it. Without holds it costs one look-up. The answer may
   * be as old as the registry's answers (`staleMsMax`).
   */
  on(workspace: string): Promise<HoldsOf>
}

export interface HoldParts extends Pick<AdminParts, "registry" | "ledger" | "clock" | "limits"> {
  readonly journal: Pick<JournalReader, "at">
  /**
   * Entries that are compared before others run: each with a hundred holds, which may be searches.
   */
  readonly pace: SharedPace
}

const none: HoldsOf = async () => []

export function createHolds(parts: HoldParts): Holds {
  const { registry, ledger, limits, journal, pace } = parts
  /** By workspace, for the version of its state. */
  const known = new Map<string, { readonly version: number; readonly holdsOf: Promise<HoldsOf> }>()
  const active = (workspace: string) => activeHolds(registry, workspace)
  const get = (workspace: string, id: string) => required(registry, "hold", workspace, id)

  return {
    active,

    async among(workspace, subject, sequences, signal) {
      const holds = await active(workspace)
      const found = new Set(
        holds.flatMap(({ id, scope }) => (concernsPerson(scope, subject) ? [id] : [])),
      )
      const open = holds.filter(({ id }) => !found.has(id))
      const holdsOf = createHoldsOf(open, pace.of(workspace))
      // Each hold is listed once; without others there is nothing to read.
      if (open.length === 0) return [...found]
      for await (const entries of entriesInBatches(journal, workspace, sequences)) {
        for (const entry of entries) {
          signal?.throwIfAborted()
          if (entry !== undefined) for (const id of await holdsOf(entry)) found.add(id)
        }
        if (found.size === holds.length) break
      }
      return [...found]
    },

    async on(workspace) {
      const { version, value } = await readState(registry, workspace)
      if (value.holds === 0) return none
      const last = known.get(workspace)
      if (last?.version === version) return last.holdsOf
      const holdsOf = active(workspace).then((holds) => createHoldsOf(holds, pace.of(workspace)))
      known.set(workspace, { version, holdsOf })
      holdsOf.catch(() => known.delete(workspace))
      return holdsOf
    },

    async place(by, workspace, { name, reason, scope }) {
      const holdId = ledger.makeId("hold", parts.clock.now())
      await recordPlanned(parts, workspace, async (nowMs) => {
        const state = await readState(registry, workspace.id)
        const { holds } = state.value
        if (holds >= limits.holdsMax)
          throw new LedgerError("conflict", `a workspace has ${limits.holdsMax} holds at most`)
        const createdAt = isoTime(nowMs)
        const value: HoldDocument = { name, reason, scope, createdAt, createdBy: nameOf(by) }
        return {
          by,
          action: "policy.hold.place",
          // The scope may name a person, so it is a member of the target, which is sealed.
          target: { id: holdId, type: "hold", name, scope: scopeJson(scope) },
          metadata: { reason },
          changes: [
            created("hold", holdId, value),
            stateChange(state, { ...state.value, holds: holds + 1 }),
          ],
        }
      })
      return get(workspace.id, holdId)
    },

    async release(by, workspace, id, reason) {
      await recordPlanned(parts, workspace, async (nowMs) => {
        const before = await get(workspace.id, id)
        if (before.value.released !== undefined) return undefined
        const state = await readState(registry, workspace.id)
        const released = { at: isoTime(nowMs), by: nameOf(by), reason }
        const scope = before.value.forgets ? { receiptIds: [] } : before.value.scope
        return {
          by,
          action: "policy.hold.release",
          target: { id, type: "hold", name: before.value.name },
          metadata: { reason },
          changes: [
            changed(before, { ...before.value, released, scope }),
            stateChange(state, { ...state.value, holds: state.value.holds - 1 }),
          ],
        }
      })
      return get(workspace.id, id)
    },
  }
}

/** For callers that destroy: read after the state that their commit will change. */
export async function activeHolds(
  registry: Pick<Registry, "list">,
  workspace: string,
): Promise<readonly ActiveHold[]> {
  const holds: ActiveHold[] = []
  for await (const { id, value } of every(registry, "hold", workspace))
    if (value.released === undefined) holds.push({ id, scope: value.scope })
  return holds
}

/** Whether a hold on a person and an erasure of a person may be about the same one. */
function concernsPerson(scope: HoldScope, { id, types }: Person): boolean {
  if (!("subject" in scope) || scope.subject.id !== id) return false
  const held = scope.subject.types
  return held === undefined || types === undefined || held.some((type) => types.includes(type))
}

function scopeJson(scope: HoldScope): JsonObject {
  // The parts of a filter are JSON, because they came from a request.
  return JSON.parse(JSON.stringify(scope)) as JsonObject
}
