// Members of workspaces and their roles. An invitation gives no rights until the invited person
// accepts it by its link, with a password of their own. An account belongs to the realm that made
// it: a workspace or the instance. The same e-mail in two realms is two accounts, so nobody can
// take over another's e-mail, and an invitation reveals nothing about other realms.

import { createHmac } from "node:crypto"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { MembershipDocument, Role, SetupDocument } from "../store/documents.ts"
import { every } from "../store/all-documents.ts"
import type { Change, Document, ListPlace, Registry } from "../store/store.ts"
import { adminDraft, nameOf, recordPlanned, type Act, type AdminParts } from "./admin-entries.ts"
import { instanceWorkspace, type Principal } from "./permissions.ts"
import {
  boundOf,
  commitmentTo,
  createMacs,
  formatCredential,
  makeCredential,
  randomText,
  type MacOf,
} from "./credential-format.ts"

export interface Invitation {
  readonly email: string
  readonly name?: string | undefined
  readonly role: Role
}

export interface Invited {
  readonly document: Document<"membership">
  /** Shown once, to the person who invites. */
  readonly token: string
}

export interface Members {
  invite(by: Principal, workspace: Document<"workspace">, invitation: Invitation): Promise<Invited>
  /** Creates a new token for a pending invitation. The token before it ends. */
  inviteAgain(by: Principal, workspace: Document<"workspace">, id: string): Promise<Invited>
  /** Whether the member's account belongs to this workspace's realm, now or once it exists. */
  isOfWorkspace(membership: Document<"membership">): boolean
  /** Refuses with `not_found`. */
  get(workspace: string, id: string): Promise<Document<"membership">>
  list(
    workspace: string,
    before: ListPlace | undefined,
    limit: number,
  ): Promise<readonly Document<"membership">[]>
  changeRole(
    by: Principal,
    workspace: Document<"workspace">,
    id: string,
    role: Role,
  ): Promise<Document<"membership">>
  /** Does nothing if there is no such member. */
  remove(by: Principal, workspace: Document<"workspace">, id: string): Promise<void>
}

export interface MemberParts extends AdminParts {
  readonly limits: Pick<Limits, "setupLifeMs">
}

export function createMembers({ registry, ledger, clock, keyring, limits }: MemberParts): Members {
  const macs = createMacs(keyring.peppers)
  const idOf = memberIds(keyring.memberIds)

  const newSetup = (workspace: string, memberId: string, nowMs: number) =>
    makeSetup(macs.of, ledger.random, {
      workspace,
      memberId,
      purpose: "join",
      nowMs,
      lifeMs: limits.setupLifeMs,
    })
  const get = async (workspace: string, id: string): Promise<Document<"membership">> => {
    const found = await registry.get("membership", workspace, id)
    if (found === undefined) throw new LedgerError("not_found", "there is no such member")
    return found
  }

  return {
    get,
    isOfWorkspace: ({ id, workspace, value }) => id === idOf(value.email, workspace),
    list: (workspace, before, limit) => registry.list("membership", workspace, before, limit),

    async invite(by, workspace, { email, name, role }) {
      const id = idOf(email, realmOf(by, workspace.id))
      const here = idsHere(idOf, email, workspace.id)
      const { token } = await recordPlanned(ledger, workspace, async () => {
        await assertNoneIsHere(registry, workspace.id, here)
        const nowMs = clock.now()
        const setup = newSetup(workspace.id, id, nowMs)
        const named = name === undefined ? {} : { name }
        const value = {
          email,
          ...named,
          role,
          createdAt: isoTime(nowMs),
          createdBy: nameOf(by),
          setupId: setup.id,
        }
        const said = adminDraft(
          by,
          "security.member.invite",
          targetOf(id, value),
          { role, ...setup.recorded },
          nowMs,
        )
        return {
          said: [said],
          changes: [{ kind: "membership", id, version: 0, value }, setup.change],
          ...setup,
        }
      })
      return { token, document: await get(workspace.id, id) }
    },

    async inviteAgain(by, workspace, id) {
      const { token } = await recordPlanned(ledger, workspace, async () => {
        const before = await get(workspace.id, id)
        if (before.value.joinedAt !== undefined)
          throw new LedgerError("conflict", "this member has taken up the invitation")
        const nowMs = clock.now()
        const setup = newSetup(workspace.id, id, nowMs)
        const value = { ...before.value, setupId: setup.id }
        const said = adminDraft(
          by,
          "security.member.invite",
          targetOf(id, value),
          { role: value.role, ...setup.recorded },
          nowMs,
        )
        return {
          said: [said],
          changes: [put(before, value), ...(await setupRemoval(registry, before)), setup.change],
          ...setup,
        }
      })
      return { token, document: await get(workspace.id, id) }
    },

    async changeRole(by, workspace, id, role) {
      await recordPlanned(ledger, workspace, async () => {
        const before = await get(workspace.id, id)
        if (before.value.role === role) return undefined
        const value = { ...before.value, role }
        const said = adminDraft(
          by,
          "security.member.update",
          targetOf(id, value),
          { role, before: before.value.role },
          clock.now(),
        )
        return {
          said: [said],
          changes: [put(before, value), ...(await heldByAnother(registry, before))],
        }
      })
      return get(workspace.id, id)
    },

    async remove(by, workspace, id) {
      await recordPlanned(ledger, workspace, async () => {
        const before = await registry.get("membership", workspace.id, id)
        if (before === undefined) return undefined
        const { said, changes } = await removalActOf(registry, by, before, clock.now())
        return { said, changes: [...changes, ...(await heldByAnother(registry, before))] }
      })
    },
  }
}

/**
 * The instance always has an admin who can sign in. An admin who leaves commits together with an
 * empty change of another admin's document. The commit fails if that admin is gone, so the last two
 * cannot leave at the same time.
 */
async function heldByAnother(
  registry: Registry,
  leaver: Document<"membership">,
): Promise<readonly Change[]> {
  if (leaver.workspace !== instanceWorkspace || !isAdmin(leaver)) return []
  for await (const other of every(registry, "membership", instanceWorkspace))
    if (other.id !== leaver.id && isAdmin(other)) return [put(other, other.value)]
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
      "this e-mail belongs to a member of the workspace, or to one who is invited",
    )
}

/** If the member administers the instance, the caller must make sure that another admin remains. */
export async function removalActOf(
  registry: Registry,
  by: Principal,
  before: Document<"membership">,
  nowMs: number,
): Promise<Act> {
  const said = adminDraft(
    by,
    "security.member.remove",
    targetOf(before.id, before.value),
    { role: before.value.role },
    nowMs,
  )
  return { said: [said], changes: [put(before, null), ...(await setupRemoval(registry, before))] }
}

async function setupRemoval(
  registry: Registry,
  { workspace, value: { setupId } }: Document<"membership">,
): Promise<readonly Change[]> {
  const setup = setupId === undefined ? undefined : await registry.get("setup", workspace, setupId)
  return setup === undefined
    ? []
    : [{ kind: "setup", id: setup.id, version: setup.version, value: null }]
}

/** The realm of a new account: the instance if one of its admins makes it, else the workspace. */
function realmOf(by: Principal, workspace: string): string {
  return by.kind === "instance" || (by.kind === "member" && by.presides)
    ? instanceWorkspace
    : workspace
}

/** Whether the instance has an admin who can sign in. */
export async function hasAdmin(registry: Registry): Promise<boolean> {
  for await (const one of every(registry, "membership", instanceWorkspace))
    if (isAdmin(one)) return true
  return false
}

function isAdmin({ value: { role, joinedAt } }: Document<"membership">): boolean {
  return role === "admin" && joinedAt !== undefined
}

function put({ id, version }: Document<"membership">, value: MembershipDocument | null): Change {
  return { kind: "membership", id, version, value }
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
  { id, value }: Document<"member">,
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
  /** What its entry records about it. */
  readonly recorded: {
    readonly setupId: string
    readonly expiresAt: string
    readonly commitment: string
  }
  readonly change: Change
}

/** A new set-up token, and the change that stores it. */
export function makeSetup(
  macOf: MacOf,
  random: Ledger["random"],
  about: Pick<SetupDocument, "memberId" | "purpose"> & {
    readonly workspace: string
    readonly nowMs: number
    readonly lifeMs: number
  },
): NewSetup {
  const { workspace, memberId, purpose, nowMs, lifeMs } = about
  const credential = makeCredential("x", random)
  const token = formatCredential(credential)
  const expiresAt = isoTime(nowMs + lifeMs)
  const bound = { memberId, purpose, expiresAt }
  const value = { ...bound, mac: macOf(token, boundOf(workspace, bound)) }
  const recorded = { setupId: credential.id, expiresAt, commitment: commitmentTo(value.mac) }
  return {
    id: credential.id,
    token,
    expiresAt,
    recorded,
    change: { kind: "setup", id: credential.id, version: 0, value },
  }
}
