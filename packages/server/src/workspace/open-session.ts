// Opens sessions. A change of the account that belongs to the sign-in commits together with the
// session.

import { assert } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import {
  changed,
  created,
  type MemberDocument,
  type Account,
  type Change,
  type Document,
} from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import type { AccountParts } from "./accounts.ts"
import { isConflict, recordPlanned, type Act } from "./admin-entries.ts"
import { instanceWorkspace, type MemberPrincipal } from "./permissions.ts"
import { boundOf, createMacs, issueCredential } from "./credential-format.ts"
import { setupRemoval } from "./members.ts"
import type { Workspaces } from "./workspaces.ts"

export interface OpenedSession {
  /**
   * The accounts of the session: several if a person has accounts in several realms with the same
   * password.
   */
  readonly members: readonly [Account, ...Account[]]
  readonly token: string
}

/** The value that an account gets when a session is opened, and the act that records why. */
export interface AccountChange {
  readonly value: MemberDocument
  readonly act?: Act
}

/** An account that a session is opened for. It may be created or changed with the session. */
export interface SessionAccount {
  readonly id: string
  readonly prepare: (before: Account | undefined, nowMs: number) => Promise<AccountChange>
}

/**
 * Opens one session for these accounts and changes them with it. Removes expired sessions, and the
 * oldest beyond the limit.
 */
export type OpenSession = (
  accounts: readonly [SessionAccount, ...SessionAccount[]],
) => Promise<OpenedSession>

export function createOpenSession(parts: AccountParts): OpenSession {
  const { registry, ledger, keyring, workspaces, limits } = parts
  const macs = createMacs(keyring.peppers)
  return async (accounts) => {
    const memberIds = accounts.map(({ id }) => id)
    const instance = await workspaces.get(instanceWorkspace)
    const { token } = await recordPlanned(parts, instance, async (nowMs) => {
      const expiresAt = isoTime(nowMs + limits.sessionLifeMs)
      const about = { memberIds, createdAt: isoTime(nowMs), expiresAt }
      const session = issueCredential(
        "s",
        ledger.random,
        macs.of,
        boundOf(instanceWorkspace, about),
      )
      const plans = await Promise.all(accounts.map((account) => planOf(account, session.id, nowMs)))
      const [first] = plans
      assert(first !== undefined, "a session has an account")
      const removed = new Map(plans.flatMap((plan) => plan.removed).map((one) => [one.id, one]))
      const opening = {
        by: first.by,
        action: "security.session.create",
        target: { id: session.id, type: "session" },
        metadata: { memberIds, expiresAt, commitment: session.commitment },
        changes: [
          ...plans.map(({ change }) => change),
          created("session", session.id, { ...about, mac: session.mac }),
          ...removed.values(),
        ],
      }
      return { token: session.token, acts: [...plans.flatMap(({ act }) => act ?? []), opening] }
    })
    const members = await foundOf(registry, "member", memberIds)
    const [first, ...others] = members
    if (first === undefined) throw new Error("an account that was just recorded is not there")
    return { token, members: [first, ...others] }
  }

  async function planOf({ id, prepare }: SessionAccount, session: string, nowMs: number) {
    const before = await registry.get("member", instanceWorkspace, id)
    const { value, act } = await prepare(before, nowMs)
    const all = await foundOf(registry, "session", value.sessions)
    const open = all.filter((one) => Date.parse(one.value.expiresAt) > nowMs)
    const kept = open.slice(Math.max(0, open.length - limits.sessionsMax + 1)).map((one) => one.id)
    return {
      by: asMember(id, value),
      act,
      change: changed(
        { kind: "member", id, version: before?.version ?? 0 },
        { ...value, sessions: [...kept, session] },
      ),
      removed: all.filter((one) => !kept.includes(one.id)).map((one) => changed(one, null)),
    }
  }
}

/** The sessions or accounts with these ids that there are. */
export async function foundOf<K extends "session" | "member">(
  registry: Registry,
  kind: K,
  ids: readonly string[],
): Promise<readonly Document<K>[]> {
  const found = await Promise.all(ids.map((id) => registry.get(kind, instanceWorkspace, id)))
  return found.filter((one) => one !== undefined)
}

/** The current accounts of a session: without deleted ones, and without those that ended it. */
export async function accountsOf(
  registry: Registry,
  { id, value }: Document<"session">,
): Promise<readonly Account[]> {
  const members = await foundOf(registry, "member", value.memberIds)
  return members.filter((member) => member.value.sessions.includes(id))
}

/** Removes what belongs to this account alone: its sessions and its password token. */
export async function endingsOf(
  registry: Registry,
  { value }: Account,
): Promise<readonly Change[]> {
  const sessions = await foundOf(registry, "session", value.sessions)
  const own = sessions.filter(({ value: { memberIds } }) => memberIds.length === 1)
  return [
    ...own.map((one) => changed(one, null)),
    ...(await setupRemoval(registry, instanceWorkspace, value.resetId)),
  ]
}

/** The principal of somebody who is signing in or setting up an account. */
export function asMember(id: string, { email }: { readonly email: string }): MemberPrincipal {
  const nowhere = { workspace: undefined, role: undefined, presides: false }
  return { kind: "member", id, email, sessionId: "", ...nowhere }
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
