// Members of workspaces and their roles. An invitation gives no rights until the invited person
// accepts it by its link, with a password of their own. An account belongs to the realm that made
// it: a workspace or the instance. The same e-mail in two realms is two accounts, so nobody can
// take over another's e-mail, and an invitation reveals nothing about other realms.

import { createHmac } from "node:crypto"
import type { NewMember } from "@tallystick/client/wire"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import {
  changed,
  created,
  type MembershipDocument,
  type Role,
  type SetupDocument,
  type Account,
  type Change,
  type Membership,
  type Workspace,
} from "../store/documents.ts"
import { every } from "../store/all-documents.ts"
import type { Registry } from "../store/store.ts"
import { nameOf, recordPlanned, type Act, type AdminParts } from "./admin-entries.ts"
import { instanceWorkspace, type Principal } from "./permissions.ts"
import { boundOf, createMacs, issueCredential, randomText } from "./credential-format.ts"
import { required } from "./required-document.ts"

export interface NewInvitation {
  readonly document: Membership
  /** Shown once, to the person who invites. */
  readonly token: string
}

export interface Members {
  invite(by: Principal, workspace: Workspace, invitation: NewMember): Promise<NewInvitation>
  /** Creates a new token for a pending invitation. The token before it ends. */
  inviteAgain(by: Principal, workspace: Workspace, id: string): Promise<NewInvitation>
  /** Whether the member's account belongs to this workspace's realm, now or once it exists. */
  isOfWorkspace(membership: Membership): boolean
  /** Refuses with `not_found`. */
  get(workspace: string, id: string): Promise<Membership>
  changeRole(by: Principal, workspace: Workspace, id: string, role: Role): Promise<Membership>
  remove(by: Principal, workspace: Workspace, id: string): Promise<void>
}

export function createMembers(parts: AdminParts): Members {
  const { registry, keyring } = parts
  const idOf = memberIds(keyring.memberIds)
  const makeSetup = setupMaker(parts)
  const get = (workspace: string, id: string) => required(registry, "membership", workspace, id)

  return {
    get,
    isOfWorkspace: ({ id, workspace, value }) => id === idOf(value.email, workspace),

    async invite(by, workspace, { email, name, role }) {
      const id = idOf(email, realmOf(by, workspace.id))
      const { token } = await recordPlanned(parts, workspace, async (nowMs) => {
        await assertNoneIsHere(registry, workspace.id, idsHere(idOf, email, workspace.id))
        const setup = makeSetup(workspace.id, { memberId: id, purpose: "join" }, nowMs)
        const value = {
          email,
          ...(name !== undefined && { name }),
          role,
          createdAt: isoTime(nowMs),
          createdBy: nameOf(by),
          setupId: setup.id,
        }
        return invitationAct(by, id, value, setup, [created("membership", id, value)])
      })
      return { token, document: await get(workspace.id, id) }
    },

    async inviteAgain(by, workspace, id) {
      const { token } = await recordPlanned(parts, workspace, async (nowMs) => {
        const before = await get(workspace.id, id)
        if (before.value.joinedAt !== undefined)
          throw new LedgerError("conflict", "this member has accepted the invitation already")
        const setup = makeSetup(workspace.id, { memberId: id, purpose: "join" }, nowMs)
        const value = { ...before.value, setupId: setup.id }
        const ended = await setupRemoval(registry, workspace.id, before.value.setupId)
        return invitationAct(by, id, value, setup, [changed(before, value), ...ended])
      })
      return { token, document: await get(workspace.id, id) }
    },

    async changeRole(by, workspace, id, role) {
      await recordPlanned(parts, workspace, async () => {
        const before = await get(workspace.id, id)
        if (before.value.role === role) return undefined
        return {
          by,
          action: "security.member.update",
          target: targetOf(id, before.value),
          metadata: { role, before: before.value.role },
          changes: [
            changed(before, { ...before.value, role }),
            ...(await heldByAnother(registry, before)),
          ],
        }
      })
      return get(workspace.id, id)
    },

    async remove(by, workspace, id) {
      await recordPlanned(parts, workspace, async () => {
        const before = await registry.get("membership", workspace.id, id)
        if (before === undefined) return undefined
        const act = await memberRemoval(registry, by, before)
        return { ...act, changes: [...act.changes, ...(await heldByAnother(registry, before))] }
      })
    },
  }
}

function invitationAct(
  by: Principal,
  id: string,
  value: MembershipDocument,
  { recorded, change, token }: NewSetup,
  changes: readonly Change[],
) {
  return {
    by,
    action: "security.member.invite",
    target: targetOf(id, value),
    metadata: { role: value.role, ...recorded },
    changes: [...changes, change],
    token,
  }
}

/**
 * The instance always has an admin who can sign in. An admin who leaves commits together with an
 * empty change of another admin's document. The commit fails if that admin is gone, so the last two
 * cannot leave at the same time.
 */
async function heldByAnother(registry: Registry, leaver: Membership): Promise<readonly Change[]> {
  if (leaver.workspace !== instanceWorkspace || !isAdmin(leaver)) return []
  for await (const other of every(registry, "membership", instanceWorkspace))
    if (other.id !== leaver.id && isAdmin(other)) return [changed(other, other.value)]
  throw new LedgerError(
    "conflict",
    "this is the last admin of the instance; make another one first",
  )
}

/**
 * The ids that an e-mail may have in a workspace: in the instance's realm, and in the workspace's.
 */
export function idsHere(
  idOf: (email: string, realm: string) => string,
  email: string,
  workspace: string,
): readonly string[] {
  return [idOf(email, instanceWorkspace), idOf(email, workspace)]
}

export async function assertNoneIsHere(
  registry: Registry,
  workspace: string,
  ids: readonly string[],
): Promise<void> {
  const found = await Promise.all(ids.map((id) => registry.get("membership", workspace, id)))
  if (found.some((one) => one !== undefined))
    throw new LedgerError(
      "conflict",
      "this e-mail belongs to a member of the workspace, or is invited already",
    )
}

/** If the member administers the instance, the caller must make sure that another admin remains. */
export async function memberRemoval(
  registry: Registry,
  by: Principal,
  { id, value, ...place }: Membership,
): Promise<Act & { readonly changes: readonly Change[] }> {
  return {
    by,
    action: "security.member.remove",
    target: targetOf(id, value),
    metadata: { role: value.role },
    changes: [
      changed({ id, ...place }, null),
      ...(await setupRemoval(registry, place.workspace, value.setupId)),
    ],
  }
}

/** Removes the set-up token that a member or a membership has, if it has one. */
export async function setupRemoval(
  registry: Registry,
  workspace: string,
  setupId: string | undefined,
): Promise<readonly Change[]> {
  const setup = setupId === undefined ? undefined : await registry.get("setup", workspace, setupId)
  return setup === undefined ? [] : [changed(setup, null)]
}

/** The realm of a new account: the instance if one of its admins makes it, else the workspace. */
function realmOf(by: Principal, workspace: string): string {
  return by.kind === "instance" || (by.kind === "member" && by.presides)
    ? instanceWorkspace
    : workspace
}

export async function hasAdmin(registry: Registry): Promise<boolean> {
  for await (const one of every(registry, "membership", instanceWorkspace))
    if (isAdmin(one)) return true
  return false
}

function isAdmin({ value: { role, joinedAt } }: Membership): boolean {
  return role === "admin" && joinedAt !== undefined
}

/** A member as the target of an entry. Entries seal e-mails but not names, so there is no name. */
export function targetOf(id: string, { email }: { readonly email: string }) {
  return { id, type: "member", email }
}

/**
 * The id of an e-mail in a realm, whether or not an account exists, so an invitation reveals
 * nothing about other realms. The id is in entries for ever, so it is a keyed hash: nobody can find
 * the e-mail by guessing.
 */
export function memberIds(key: Uint8Array): (email: string, realm: string) => string {
  return (email, realm) => {
    const named = realm === instanceWorkspace ? "" : `${realm}\n`
    const digest = createHmac("sha256", key)
      .update(`${named}${email.normalize("NFC").toLowerCase()}`)
      .digest()
    return randomText(idCharacters, (into) => into.set(digest.subarray(0, into.length)))
  }
}

const idCharacters = 13

/**
 * A member's role in a workspace; undefined without membership, or while the invitation is pending.
 */
export async function roleOf(
  registry: Registry,
  workspace: string,
  id: string,
): Promise<Role | undefined> {
  const membership = await registry.get("membership", workspace, id)
  return membership?.value.joinedAt === undefined ? undefined : membership.value.role
}

/** The workspaces of an account, with its role in each. */
export async function rolesOf(
  registry: Registry,
  { id, value }: Account,
): Promise<readonly { readonly id: string; readonly role: Role }[]> {
  const roles = await Promise.all(
    value.workspaces.map(async (workspace) => ({
      id: workspace,
      role: await roleOf(registry, workspace, id),
    })),
  )
  return roles.flatMap(({ id: workspace, role }) =>
    role === undefined ? [] : [{ id: workspace, role }],
  )
}

/**
 * Whether a member has belonged to a workspace, or administered the instance, without interruption
 * since a time.
 */
export async function belongedSince(
  registry: Registry,
  workspace: string,
  id: string,
  since: string,
): Promise<boolean> {
  const here = await registry.get("membership", workspace, id)
  if (here?.value.joinedAt !== undefined && here.value.joinedAt <= since) return true
  const above = await registry.get("membership", instanceWorkspace, id)
  return (
    above?.value.role === "admin" &&
    above.value.joinedAt !== undefined &&
    above.value.joinedAt <= since
  )
}

export interface NewSetup {
  readonly id: string
  readonly token: string
  readonly expiresAt: string
  readonly recorded: {
    readonly setupId: string
    readonly expiresAt: string
    readonly commitment: string
  }
  readonly change: Change
}

/** Makes a set-up token for a workspace, and the change that stores it. */
export type MakeSetup = (
  workspace: string,
  about: Pick<SetupDocument, "memberId" | "purpose">,
  nowMs: number,
) => NewSetup

export function setupMaker({ ledger, keyring, limits }: AdminParts): MakeSetup {
  const macs = createMacs(keyring.peppers)
  return (workspace, about, nowMs) => {
    const expiresAt = isoTime(nowMs + limits.setupLifeMs)
    const bound = { ...about, expiresAt }
    const { id, token, mac, commitment } = issueCredential(
      "x",
      ledger.random,
      macs.of,
      boundOf(workspace, bound),
    )
    const recorded = { setupId: id, expiresAt, commitment }
    return { id, token, expiresAt, recorded, change: created("setup", id, { ...bound, mac }) }
  }
}
