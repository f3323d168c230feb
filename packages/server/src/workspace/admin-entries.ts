// Every administrative change is recorded as an entry, and both commit together. Only the service
// writes entries of this kind.

import { assert, AssertionError } from "@tallystick/proof"
import type { JsonObject } from "@tallystick/proof"
import { isoTime, type Clock } from "../clock.ts"
import type { OpenedEntry, Party } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import type { Ledger, Draft } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import { createOneAtATime, type OneAtATime } from "../runtime/one-at-a-time.ts"
import type { Keyring } from "../secrets/keyring.ts"
import { systemProject } from "../store/search/searchable-fields.ts"
import type { Change, Workspace } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import type { Principal } from "./permissions.ts"

/** What the services of this folder are made from. */
export interface AdminParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
  readonly keyring: Keyring
  readonly limits: Limits
}

/** An administrative change: what its entry says, and the documents that it changes. */
export interface Act {
  readonly by: Principal
  readonly action: string
  readonly target: Party
  readonly metadata?: JsonObject
  readonly changes?: readonly Change[]
  readonly kind?: "key" | "policy" | "retention" | "erasure"
}

export function draftOf(act: Act, nowMs: number): Draft {
  const { by, action, target, metadata = {}, kind = "admin" } = act
  return {
    kind,
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

/** The id of the principal, as entries and documents name it. */
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

/** One act, or several that commit together, and changes that belong to all of them. */
type Plan = Act | { readonly acts: readonly Act[]; readonly changes?: readonly Change[] }
type Recorded<P> = P extends Plan ? P & { readonly entries: Entries } : P
type Entries = readonly [OpenedEntry, ...OpenedEntry[]]

/**
 * Plans a change from the current documents and records it. If another change wins the race, it
 * plans again, in turn with the others of its workspace that have lost one: otherwise all would plan
 * again at once, and one would win. A plan may return undefined if there is nothing to do. A plan
 * that creates a document must check first that it does not exist.
 */
export async function recordPlanned<P extends Plan | undefined>(
  parts: Pick<AdminParts, "ledger" | "clock">,
  workspace: Workspace,
  plan: (nowMs: number) => Promise<P>,
): Promise<Recorded<P>> {
  const first = await planOnce(parts, workspace, plan)
  if (first !== "lost") return first
  return losersOf(parts.ledger)(workspace.id, async () => {
    for (let races = 1; races < racesMax; races++) {
      const recorded = await planOnce(parts, workspace, plan)
      if (recorded !== "lost") return recorded
    }
    throw new AssertionError(
      "a plan lost every race: it creates a document that is already there, without checking for it",
    )
  })
}

/**
 * More than the submissions that can wait at once, so a plan that reads the documents that it
 * changes wins a race earlier.
 */
const racesMax = 10_000

/** By ledger: those who lost a race there, one at a time for each workspace. */
const losers = new WeakMap<Ledger, OneAtATime>()

function losersOf(ledger: Ledger): OneAtATime {
  const inTurn = losers.get(ledger) ?? createOneAtATime()
  losers.set(ledger, inTurn)
  return inTurn
}

async function planOnce<P extends Plan | undefined>(
  { ledger, clock }: Pick<AdminParts, "ledger" | "clock">,
  workspace: Workspace,
  plan: (nowMs: number) => Promise<P>,
): Promise<Recorded<P> | "lost"> {
  const nowMs = clock.now()
  const planned = await plan(nowMs)
  // TypeScript does not narrow a type that depends on a type parameter.
  if (planned === undefined) return planned as Recorded<P>
  try {
    const { acts, changes } = "acts" in planned ? planned : { acts: [planned], changes: [] }
    const entries = await recordActs(ledger, workspace, acts, nowMs, changes)
    return { ...planned, entries } as unknown as Recorded<P>
  } catch (error) {
    if (!isConflict(error)) throw error
    return "lost"
  }
}

/** Records acts in one commit. Throws `conflict` if a document has changed meanwhile. */
export async function recordActs(
  ledger: Ledger,
  workspace: Workspace,
  acts: readonly Act[],
  nowMs: number,
  changes: readonly Change[] = [],
): Promise<Entries> {
  const drafts = acts.map((act) => draftOf(act, nowMs))
  const own = acts.flatMap((act) => act.changes ?? [])
  const outcomes = await ledger.record(workspace, drafts, [...own, ...changes])
  const [first, ...others] = outcomes.flatMap((one) => (one.kind === "recorded" ? one.opened : []))
  assert(
    first !== undefined && others.length === acts.length - 1,
    "an entry without an idempotency key is always recorded",
  )
  return [first, ...others]
}

/** Another request changed the same document at the same time. */
export function isConflict(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "conflict"
}
