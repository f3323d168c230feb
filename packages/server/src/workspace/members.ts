// Who belongs to a workspace, and as what. An invitation gives no rights: whoever it is for takes it up by its link, with a password of
// their own. An account belongs to the realm that made it, a workspace or the instance: the same e-mail in two realms is two accounts. So
// nobody takes an e-mail from the person who has it, and an invitation has nothing to tell of other realms.

import { createHmac } from "node:crypto"
import { isoTime, type Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Keyring } from "../secrets/keyring.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { MembershipDocument, Role, SetupDocument } from "../store/documents.ts"
import { every } from "../store/every.ts"
import type { Change, Document, ListPlace, Registry } from "../store/store.ts"
import { actSaid, nameOf, recordPlanned, type Act } from "./admin-entries.ts"
import { instanceWorkspace, type Principal } from "./permissions.ts"
import { boundOf, commitmentTo, createMacs, formatCredential, makeCredential, randomText, type MacOf } from "./credential-format.ts"

export interface Invitation {
  readonly email: string
  readonly name?: string | undefined
  readonly role: Role
}

export interface Invited {
  readonly document: Document<"membership">
  /** Shown once, to whoever invites. */
  readonly token: string
}

export interface Members {
  invite(by: Principal, workspace: Document<"workspace">, invitation: Invitation): Promise<Invited>
  /** Another token for an invitation that nobody has taken up; the one before ends. */
  inviteAgain(by: Principal, workspace: Document<"workspace">, id: string): Promise<Invited>
  /** Whether the account is, or will be, of this workspace's realm. */
  isOfWorkspace(membership: Document<"membership">): boolean
  /** Refuses with `not_found`. */
  get(workspace: string, id: string): Promise<Document<"membership">>
  list(workspace: string, before: ListPlace | undefined, limit: number): Promise<readonly Document<"membership">[]>
  changeRole(by: Principal, workspace: Document<"workspace">, id: string, role: Role): Promise<Document<"membership">>
  /** Says nothing if there was no such member. */
  remove(by: Principal, workspace: Document<"workspace">, id: string): Promise<void>
}

export interface MemberParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
  readonly keyring: Keyring
  readonly limits: Pick<Limits, "setupLifeMs">
}

export function createMembers({ registry, ledger, clock, keyring, limits }: MemberParts): Members {
  const macs = createMacs(keyring.peppers)
  const idOf = memberIds(keyring.memberIds)

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
        const setup = newSetup(workspace.id, id, "join", nowMs)
        const named = name === undefined ? {} : { name }
        const value = { email, ...named, role, createdAt: isoTime(nowMs), createdBy: nameOf(by), setupId: setup.id }
        const said = actSaid(by, "security.member.invite", targetOf(id, value), { role, ...setup.recorded }, nowMs)
        return { said: [said], changes: [{ kind: "membership", id, version: 0, value }, setup.change], ...setup }
      })
      return { token, document: await get(workspace.id, id) }
    },

    async inviteAgain(by, workspace, id) {
      const { token } = await recordPlanned(ledger, workspace, async () => {
        const before = await get(workspace.id, id)
        if (before.value.joinedAt !== undefined) throw new LedgerError("conflict", "this member has taken up the invitation")
        const nowMs = clock.now()
        const setup = newSetup(workspace.id, id, "join", nowMs)
        const value = { ...before.value, setupId: setup.id }
        const said = actSaid(by, "security.member.invite", targetOf(id, value), { role: value.role, ...setup.recorded }, nowMs)
        return { said: [said], changes: [put(before, value), ...(await setupRemoval(registry, before)), setup.change], ...setup }
      })
      return { token, document: await get(workspace.id, id) }
    },

    async changeRole(by, workspace, id, role) {
      await recordPlanned(ledger, workspace, async () => {
        const before = await get(workspace.id, id)
        if (before.value.role === role) return undefined
        const value = { ...before.value, role }
        const said = actSaid(by, "security.member.update", targetOf(id, value), { role, before: before.value.role }, clock.now())
        return { said: [said], changes: [put(before, value), ...(await heldByAnother(before))] }
      })
      return get(workspace.id, id)
    },

    async remove(by, workspace, id) {
      await recordPlanned(ledger, workspace, async () => {
        const before = await registry.get("membership", workspace.id, id)
        if (before === undefined) return undefined
        const { said, changes } = await removalActOf(registry, by, before, clock.now())
        return { said, changes: [...changes, ...(await heldByAnother(before))] }
      })
    },
  }

  function newSetup(workspace: string, memberId: string, purpose: SetupDocument["purpose"], nowMs: number) {
    return makeSetup(macs.of, ledger.random, { workspace, memberId, purpose, nowMs, lifeMs: limits.setupLifeMs })
  }

  /**
   * An instance has an admin who can sign in, always. Whoever ceases to be one does so together with a change that changes nothing of another: it only commits
   * if that one is still there, so the last two cannot leave at the same moment.
   */
  async function heldByAnother(leaver: Document<"membership">): Promise<readonly Change[]> {
    if (leaver.workspace !== instanceWorkspace || !isAdmin(leaver)) return []
    for await (const other of every(registry, "membership", instanceWorkspace))
      if (other.id !== leaver.id && isAdmin(other)) return [put(other, other.value)]
    throw new LedgerError("conflict", "this is the last admin of the instance; make another one first")
  }
}

/** One e-mail may be in a workspace by an admin of the instance and by one of the workspace. */
export function idsHere(idOf: (email: string, realm: string) => string, email: string, workspace: string): readonly string[] {
  return [idOf(email, instanceWorkspace), idOf(email, workspace)]
}

export async function assertNoneIsHere(registry: Registry, workspace: string, ids: readonly string[]): Promise<void> {
  const found = await Promise.all(ids.map((id) => registry.get("membership", workspace, id)))
  if (found.some((one) => one !== undefined))
    throw new LedgerError("conflict", "this e-mail belongs to a member of the workspace, or to one who is invited")
}

/** Of an admin of the instance, that there is another one is for the caller to see to. */
export async function removalActOf(registry: Registry, by: Principal, before: Document<"membership">, nowMs: number): Promise<Act> {
  const said = actSaid(by, "security.member.remove", targetOf(before.id, before.value), { role: before.value.role }, nowMs)
  return { said: [said], changes: [put(before, null), ...(await setupRemoval(registry, before))] }
}

async function setupRemoval(registry: Registry, { workspace, value: { setupId } }: Document<"membership">): Promise<readonly Change[]> {
  const setup = setupId === undefined ? undefined : await registry.get("setup", workspace, setupId)
  return setup === undefined ? [] : [{ kind: "setup", id: setup.id, version: setup.version, value: null }]
}

/** An account belongs to whoever makes it: an admin of the instance, or of one workspace, whom no other needs to trust. */
function realmOf(by: Principal, workspace: string): string {
  return by.kind === "instance" || (by.kind === "member" && by.presides) ? instanceWorkspace : workspace
}

/** Whether somebody who can sign in administers the instance. */
export async function hasAdmin(registry: Registry): Promise<boolean> {
  for await (const one of every(registry, "membership", instanceWorkspace)) if (isAdmin(one)) return true
  return false
}

function isAdmin({ value: { role, joinedAt } }: Document<"membership">): boolean {
  return role === "admin" && joinedAt !== undefined
}

function put({ id, version }: Document<"membership">, value: MembershipDocument | null): Change {
  return { kind: "membership", id, version, value }
}

/** A member as an entry's target: the e-mail is sealed there, a name would not be. */
export function targetOf(id: string, { email }: { readonly email: string }) {
  return { id, type: "member", email }
}

/**
 * The id of whoever has an e-mail in a realm, whether there is an account or not, so that an invitation tells nothing about other realms. It stands in entries for
 * ever, so it is made under a key: nobody can find out by trying whose it is.
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

/** What a member is in a workspace now; undefined when nothing, or not yet. */
export async function roleOf(registry: Registry, workspace: string, id: string): Promise<Role | undefined> {
  const membership = await registry.get("membership", workspace, id)
  return membership?.value.joinedAt === undefined ? undefined : membership.value.role
}

/** All that an account is, and where. */
export async function rolesOf(
  registry: Registry,
  { id, value }: Document<"member">,
): Promise<readonly { readonly id: string; readonly role: Role }[]> {
  const roles = await Promise.all(
    value.workspaces.map(async (workspace) => ({ id: workspace, role: await roleOf(registry, workspace, id) })),
  )
  return roles.flatMap(({ id: workspace, role }) => (role === undefined ? [] : [{ id: workspace, role }]))
}

/** Whether a member has belonged to a workspace, or administered the instance, without a break since then. */
export async function belongedSince(registry: Registry, workspace: string, id: string, since: string): Promise<boolean> {
  const here = await registry.get("membership", workspace, id)
  if (here?.value.joinedAt !== undefined && here.value.joinedAt <= since) return true
  const above = await registry.get("membership", instanceWorkspace, id)
  return above?.value.role === "admin" && above.value.joinedAt !== undefined && above.value.joinedAt <= since
}

export interface NewSetup {
  readonly id: string
  readonly token: string
  readonly expiresAt: string
  /** What the entry that makes it says of it. */
  readonly recorded: { readonly setupId: string; readonly expiresAt: string; readonly commitment: string }
  readonly change: Change
}

/** A set-up token that does not exist yet, and the change that makes it. */
export function makeSetup(
  macOf: MacOf,
  random: Ledger["random"],
  about: Pick<SetupDocument, "memberId" | "purpose"> & { readonly workspace: string; readonly nowMs: number; readonly lifeMs: number },
): NewSetup {
  const { workspace, memberId, purpose, nowMs, lifeMs } = about
  const credential = makeCredential("x", random)
  const token = formatCredential(credential)
  const expiresAt = isoTime(nowMs + lifeMs)
  const bound = { memberId, purpose, expiresAt }
  const value = { ...bound, mac: macOf(token, boundOf(workspace, bound)) }
  const recorded = { setupId: credential.id, expiresAt, commitment: commitmentTo(value.mac) }
  return { id: credential.id, token, expiresAt, recorded, change: { kind: "setup", id: credential.id, version: 0, value } }
}
