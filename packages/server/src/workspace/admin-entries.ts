// Every administrative change is recorded as an entry, and both commit together. Only the service
// writes entries of this kind.

import { strict as assert } from "node:assert"
import type { JsonObject } from "@tallystick/proof"
import { isoTime, type Clock } from "../clock.ts"
import type { Opened, Party } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import type { Ledger, Draft } from "../ledger/ledger.ts"
import type { Keyring } from "../secrets/keyring.ts"
import { systemProject } from "../store/search/searchable-fields.ts"
import type { Change, Document, Registry } from "../store/store.ts"
import type { Principal } from "./permissions.ts"

/** What the services of this folder are made from. */
export interface AdminParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
  readonly keyring: Keyring
}

export function adminDraft(
  by: Principal,
  action: string,
  target: Party,
  metadata: JsonObject,
  nowMs: number,
): Draft {
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

/** Entries, and the changes that they record. */
export interface Act {
  readonly said: readonly Draft[]
  readonly changes: readonly Change[]
}

type Committed<A> = A extends Act ? A & { readonly entries: readonly [Opened, ...Opened[]] } : A

/**
 * Plans a change from the current documents and records it. If another change wins the race, it
 * plans again; one change wins each race, so this ends. A plan may return undefined if there is
 * nothing to do. A plan that creates a document must check first that it is not there.
 */
export async function recordPlanned<A extends Act | undefined>(
  ledger: Ledger,
  workspace: Document<"workspace">,
  plan: () => Promise<A>,
): Promise<Committed<A>> {
  for (let races = 0; races < racesMax; races++) {
    const act = await plan()
    // TypeScript does not narrow a type that depends on a type parameter.
    if (act === undefined) return act as Committed<A>
    try {
      const entries = await recordAct(ledger, workspace, act)
      return { ...act, entries } as unknown as Committed<A>
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
  assert.fail(
    "a plan lost every race: it creates a document that is already there, without checking for it",
  )
}

/**
 * Fewer submissions than this can wait at once, so a plan that reads what it changes wins earlier.
 */
const racesMax = 10_000

/** Records entries without an idempotency key, and returns them. */
export async function recordAct(
  ledger: Ledger,
  workspace: Document<"workspace">,
  { said, changes }: Act,
): Promise<readonly [Opened, ...Opened[]]> {
  const recorded = await ledger.record(workspace, said, changes)
  const [first, ...others] = recorded.flatMap((one) =>
    one.kind === "recorded" ? [one.opened] : [],
  )
  assert(
    first !== undefined && others.length === said.length - 1,
    "an entry without an idempotency key is always recorded",
  )
  return [first, ...others]
}

/** Another request changed the same document at the same time. */
export function isConflict(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "conflict"
}
