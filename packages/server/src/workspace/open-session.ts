// Opens sessions. A change of the account that belongs to the sign-in commits together with the
// session.

import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Draft } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { MemberDocument } from "../store/documents.ts"
import type { Change, Document, Registry } from "../store/store.ts"
import { adminDraft, isConflict, recordPlanned, type AdminParts } from "./admin-entries.ts"
import { instanceWorkspace, type MemberPrincipal } from "./permissions.ts"
import {
  boundOf,
  commitmentTo,
  formatCredential,
  makeCredential,
  type MacOf,
} from "./credential-format.ts"
import type { Workspaces } from "./workspaces.ts"

export interface Opened {
  /**
   * The accounts of the session: several if a person has accounts in several realms with the same
   * password.
   */
  readonly members: readonly [Document<"member">, ...Document<"member">[]]
  /** The session's credential, for the cookie. */
  readonly token: string
}

/** The change of an account when a session is opened. */
export interface Opening {
  readonly value: MemberDocument
  readonly said: readonly Draft[]
  readonly changes: readonly Change[]
}

export interface Preparing {
  readonly id: string
  readonly prepare: (before: Document<"member"> | undefined) => Promise<Opening>
}

/**
 * Opens one session for these accounts and changes them with it. Removes expired sessions, and the
 * oldest beyond the limit.
 */
export type Open = (accounts: readonly [Preparing, ...Preparing[]]) => Promise<Opened>

export interface OpeningParts extends Omit<AdminParts, "keyring"> {
  readonly macOf: MacOf
  readonly workspaces: Workspaces
  readonly limits: Pick<Limits, "sessionLifeMs" | "sessionsMax">
}

export function createOpen({
  registry,
  ledger,
  clock,
  macOf,
  workspaces,
  limits,
}: OpeningParts): Open {
  return async (accounts) => {
    const memberIds = accounts.map(({ id }) => id)
    const { token } = await recordPlanned(ledger, await instanceOf(workspaces), async () => {
      const nowMs = clock.now()
      const credential = makeCredential("s", ledger.random)
      const token = formatCredential(credential)
      const about = {
        memberIds,
        createdAt: isoTime(nowMs),
        expiresAt: isoTime(nowMs + limits.sessionLifeMs),
      }
      const session = { ...about, mac: macOf(token, boundOf(instanceWorkspace, about)) }
      const plans = await Promise.all(
        accounts.map((account) => planOf(account, credential.id, nowMs)),
      )
      const removed = new Map(plans.flatMap((plan) => plan.removed).map((one) => [one.id, one]))
      const recorded = {
        memberIds,
        expiresAt: about.expiresAt,
        commitment: commitmentTo(session.mac),
      }
      const target = { id: credential.id, type: "session" }
      const created = plans
        .slice(0, 1)
        .map(({ by }) => adminDraft(by, "security.session.create", target, recorded, nowMs))
      const opened = { kind: "session", id: credential.id, version: 0, value: session } as const
      const changes = [...plans.flatMap((plan) => plan.changes), opened, ...removed.values()]
      return { token, said: [...plans.flatMap(({ said }) => said), ...created], changes }
    })
    const members = await Promise.all(
      memberIds.map((id) => registry.get("member", instanceWorkspace, id)),
    )
    const [first, ...others] = members.filter((one) => one !== undefined)
    if (first === undefined) throw new Error("an account that was just recorded is not there")
    return { token, members: [first, ...others] }
  }

  async function planOf({ id, prepare }: Preparing, session: string, nowMs: number) {
    const before = await registry.get("member", instanceWorkspace, id)
    const { value, said, changes } = await prepare(before)
    const { kept, removed } = await pruned(value.sessions, nowMs)
    const account = { ...value, sessions: [...kept, session] }
    const change: Change = { kind: "member", id, version: before?.version ?? 0, value: account }
    return { by: asMember(id, value), said, changes: [change, ...changes], removed }
  }

  async function pruned(
    ids: readonly string[],
    nowMs: number,
  ): Promise<{ kept: readonly string[]; removed: readonly Change[] }> {
    const sessions = await sessionsOf(registry, ids)
    const open = sessions.filter(({ value }) => Date.parse(value.expiresAt) > nowMs)
    const kept = open.slice(Math.max(0, open.length - limits.sessionsMax + 1)).map(({ id }) => id)
    return { kept, removed: sessions.filter(({ id }) => !kept.includes(id)).map(removalOf) }
  }
}

export async function sessionsOf(
  registry: Registry,
  ids: readonly string[],
): Promise<readonly Document<"session">[]> {
  const sessions = await Promise.all(
    ids.map((id) => registry.get("session", instanceWorkspace, id)),
  )
  return sessions.filter((one) => one !== undefined)
}

/** The current accounts of a session: without deleted ones, and without those that ended it. */
export async function accountsOf(
  registry: Registry,
  session: Document<"session">,
): Promise<readonly Document<"member">[]> {
  const members = await Promise.all(
    session.value.memberIds.map((id) => registry.get("member", instanceWorkspace, id)),
  )
  return members
    .filter((one) => one !== undefined)
    .filter(({ value }) => value.sessions.includes(session.id))
}

/** Removes what belongs to this account alone: its sessions and its password token. */
export async function endingsOf(
  registry: Registry,
  member: Document<"member">,
): Promise<readonly Change[]> {
  const sessions = await sessionsOf(registry, member.value.sessions)
  // Sessions of older versions have expired. They name their one account in another field.
  const own = sessions.filter(
    ({ value }) => !("memberIds" in value) || value.memberIds.length === 1,
  )
  return [...own.map(removalOf), ...(await resetRemoval(registry, member))]
}

export async function resetRemoval(
  registry: Registry,
  { value: { resetId } }: Document<"member">,
): Promise<readonly Change[]> {
  const setup =
    resetId === undefined ? undefined : await registry.get("setup", instanceWorkspace, resetId)
  return setup === undefined ? [] : [removalOf(setup)]
}

export function removalOf({ kind, id, version }: Document<"session" | "setup">): Change {
  return { kind, id, version, value: null }
}

/** The principal of somebody who is signing in or setting up an account. */
export function asMember(id: string, { email }: { readonly email: string }): MemberPrincipal {
  return {
    kind: "member",
    id,
    email,
    sessionId: "",
    workspace: undefined,
    role: undefined,
    presides: false,
  }
}

export function loginFailed(): LedgerError {
  return new LedgerError("login_failed", "the e-mail or the password is wrong")
}

/** Creates the workspace `instance` unless it exists. */
export async function makeInstance(registry: Registry, workspaces: Workspaces): Promise<void> {
  if ((await registry.get("workspace", instanceWorkspace, instanceWorkspace)) !== undefined) return
  try {
    await workspaces.create({ kind: "instance" }, { id: instanceWorkspace, name: "This instance" })
  } catch (error) {
    // Another request has just created it.
    if (!isConflict(error)) throw error
  }
}

/** The workspace of accounts and sessions. It exists once there is a member. */
export function instanceOf(workspaces: Workspaces): Promise<Document<"workspace">> {
  return workspaces.get(instanceWorkspace)
}
