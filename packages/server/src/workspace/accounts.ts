// Accounts: people sign in with them. Changes to accounts are recorded in the workspace `instance`,
// so only the instance's admins can read who signs in where.

import { isoTime } from "../clock.ts"
import { usualError, LedgerError } from "../error.ts"
import { changed, type Role, type Account, type Workspace, created } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import { recordPlanned, type AdminParts, nameOf } from "./admin-entries.ts"
import { instanceWorkspace, type MemberPrincipal, type Principal } from "./permissions.ts"
import { commitmentTo } from "./credential-format.ts"
import {
  memberIds,
  rolesOf,
  setupMaker,
  setupRemoval,
  targetOf,
  type NewSetup,
  assertNoneIsHere,
  idsHere,
} from "./members.ts"
import { accountsAtOnceMax, createLogins } from "./login-index.ts"
import {
  accountsOf,
  createOpenSession,
  endingsOf,
  foundOf,
  type OpenedSession,
} from "./open-session.ts"
import { createPasswords, type StretchedPassword } from "./password-hashes.ts"
import { required } from "./required-document.ts"
import { createSetups, type SetupParts, type Setups } from "./setup-tokens.ts"
import type { Workspaces } from "./workspaces.ts"

export interface Accounts extends Setups {
  /**
   * Refuses with `login_failed`. The message and the time taken are the same, whatever is wrong.
   */
  signIn(email: string, password: string): Promise<OpenedSession>
  signOut(by: MemberPrincipal): Promise<void>
  /** Ends the member's other sessions. Refuses with `login_failed`. */
  changePassword(by: MemberPrincipal, old: string, fresh: string): Promise<void>
  /** Creates a token with which a member who lost the password sets a new one. */
  offerPassword(by: Principal, id: string): Promise<NewSetup>
  /** Adds an account to a workspace. The caller checks permission. */
  join(by: Principal, workspace: Workspace, id: string, role: Role): Promise<void>
  /** The accounts that a session is valid for. */
  signedIn(sessionId: string): Promise<readonly Account[]>
  workspacesOf(member: Account): Promise<readonly { readonly id: string; readonly role: Role }[]>
  /** Deletes an account that belongs to no workspace any more. Only its entries remain. */
  removeIfNowhere(by: Principal, id: string): Promise<void>
}

export interface AccountParts extends AdminParts {
  readonly workspaces: Workspaces
}

export function createAccounts(parts: AccountParts): Accounts {
  const { registry, keyring, workspaces } = parts
  const idOf = memberIds(keyring.memberIds)
  const makeSetup = setupMaker(parts)
  const logins = createLogins(parts, createPasswords(keyring.passwords), (email) =>
    idOf(email, instanceWorkspace),
  )
  const openSession = createOpenSession(parts)
  const setupParts = { ...parts, openSession, idOf, logins, makeSetup }
  const instance = () => workspaces.get(instanceWorkspace)

  return {
    ...createSetups(setupParts),
    join: (...joining) => joinWorkspace(parts, ...joining),
    signedIn: (sessionId) => signedIn(registry, sessionId),
    workspacesOf: (member) => rolesOf(registry, member),

    async signIn(email, password) {
      const given = await logins.stretch(email, password)
      const [first, ...others] = (await accountsWith(setupParts, email, given)).map(
        ({ id, value: { password: kept } }) => ({
          id,
          async prepare(before: Account | undefined) {
            if (before?.value.password !== kept) throw usualError("login_failed")
            return { value: before.value }
          },
        }),
      )
      if (first === undefined) throw usualError("login_failed")
      return openSession([first, ...others])
    },

    async signOut(by) {
      await recordPlanned(parts, await instance(), async () => {
        const session = await registry.get("session", instanceWorkspace, by.sessionId)
        if (session === undefined) return undefined
        const left = (await accountsOf(registry, session)).map((member) => {
          const sessions = member.value.sessions.filter((id) => id !== session.id)
          return changed(member, { ...member.value, sessions })
        })
        return {
          by,
          action: "security.session.end",
          target: { id: session.id, type: "session" },
          changes: [changed(session, null), ...left],
        }
      })
    },

    changePassword: (...change) => changePassword(setupParts, ...change),

    async offerPassword(by, id) {
      return recordPlanned(parts, await instance(), async (nowMs) => {
        const before = await required(registry, "member", instanceWorkspace, id)
        const { resetId } = before.value
        const setup = makeSetup(instanceWorkspace, { memberId: id, purpose: "password" }, nowMs)
        return {
          ...setup,
          by,
          action: "security.password.offer",
          target: targetOf(id, before.value),
          metadata: setup.recorded,
          changes: [
            changed(before, { ...before.value, resetId: setup.id }),
            ...(await setupRemoval(registry, instanceWorkspace, resetId)),
            setup.change,
          ],
        }
      })
    },

    removeIfNowhere: (by, id) => removeIfNowhere(parts, by, id),
  }
}

/** The accounts with this e-mail and password that belong to a workspace. */
async function accountsWith(
  { registry, idOf, logins }: SetupParts,
  email: string,
  given: StretchedPassword,
): Promise<readonly Account[]> {
  const person = idOf(email, instanceWorkspace)
  const fitting: Account[] = []
  for (const id of logins.accountsOf(given)) {
    const member = await registry.get("member", instanceWorkspace, id)
    if (member === undefined || idOf(member.value.email, instanceWorkspace) !== person) continue
    if (!given.fits(id, member.value.password)) continue
    if ((await rolesOf(registry, member)).length === 0) continue
    if (fitting.push(member) === accountsAtOnceMax) break
  }
  return fitting
}

async function signedIn(registry: Registry, sessionId: string): Promise<readonly Account[]> {
  const session = await registry.get("session", instanceWorkspace, sessionId)
  return session === undefined ? [] : accountsOf(registry, session)
}

async function changePassword(
  parts: SetupParts,
  by: MemberPrincipal,
  old: string,
  fresh: string,
): Promise<void> {
  const { registry, logins, workspaces } = parts
  const given = await logins.stretch(by.email, old)
  const accounts = async () => {
    const fitting = (await signedIn(registry, by.sessionId)).filter(({ id, value }) =>
      given.fits(id, value.password),
    )
    if (fitting.length === 0) throw usualError("login_failed")
    return fitting
  }
  await accounts()
  const chosen = await logins.stretch(by.email, fresh)
  await recordPlanned(parts, await workspaces.get(instanceWorkspace), async () => {
    const members = await accounts()
    // This session continues. All others end.
    const ending = members.flatMap(({ value }) =>
      value.sessions.filter((id) => id !== by.sessionId),
    )
    const ended = await foundOf(registry, "session", [...new Set(ending)])
    return {
      acts: await Promise.all(members.map((one) => passwordChange(parts, by, one, chosen))),
      changes: ended.map((session) => changed(session, null)),
    }
  })
}

async function passwordChange(
  { registry, logins }: SetupParts,
  by: MemberPrincipal,
  before: Account,
  chosen: StretchedPassword,
) {
  const { resetId, ...kept } = before.value
  const sessions = kept.sessions.filter((id) => id === by.sessionId)
  const chosenHere = logins.keep(chosen, before.id)
  return {
    by,
    action: "security.password.change",
    target: targetOf(before.id, before.value),
    metadata: { sessionId: by.sessionId, commitment: commitmentTo(chosenHere.password) },
    changes: [
      changed(before, { ...kept, ...chosenHere, sessions }),
      ...(await setupRemoval(registry, instanceWorkspace, resetId)),
    ],
  }
}

async function removeIfNowhere(parts: AccountParts, by: Principal, id: string): Promise<void> {
  const { registry, workspaces } = parts
  const find = () => registry.get("member", instanceWorkspace, id)
  if ((await find()) === undefined) return
  await recordPlanned(parts, await workspaces.get(instanceWorkspace), async () => {
    const before = await find()
    if (before === undefined) return undefined
    const memberships = await Promise.all(
      before.value.workspaces.map((workspace) => registry.get("membership", workspace, id)),
    )
    // A pending invitation counts too: somebody may be accepting it right now.
    if (memberships.some((one) => one !== undefined)) return undefined
    return {
      by,
      action: "security.account.remove",
      target: targetOf(id, before.value),
      changes: [changed(before, null), ...(await endingsOf(registry, before))],
    }
  })
}

/**
 * The account keeps its id, its realm and its password. The caller checks permission. Refuses with
 * `not_found` and `conflict`.
 */
async function joinWorkspace(
  parts: AccountParts,
  by: Principal,
  workspace: Workspace,
  id: string,
  role: Role,
): Promise<void> {
  const { registry, keyring, workspaces } = parts
  // Before the first account there may be no instance workspace.
  await required(registry, "member", instanceWorkspace, id)
  // The account changes first, as for an accepted invitation. If the process ends before the
  // membership exists, a retry completes it.
  await recordPlanned(parts, await workspaces.get(instanceWorkspace), async () => {
    const before = await joiningAccount()
    const joined = [...new Set([...before.value.workspaces, workspace.id])]
    return {
      by,
      action: "security.account.join",
      target: targetOf(id, before.value),
      metadata: { workspaceId: workspace.id },
      changes: [changed(before, { ...before.value, workspaces: joined })],
    }
  })
  await recordPlanned(parts, workspace, async (nowMs) => {
    const { email, name } = (await joiningAccount()).value
    const at = isoTime(nowMs)
    const named = { email, ...(name !== undefined && { name }) }
    const value = { ...named, role, createdAt: at, createdBy: nameOf(by), joinedAt: at }
    return {
      by,
      action: "security.member.add",
      target: targetOf(id, value),
      metadata: { role },
      changes: [created("membership", id, value)],
    }
  })

  async function joiningAccount(): Promise<Account> {
    const account = await required(registry, "member", instanceWorkspace, id)
    // An account without a workspace is being removed, or its removal was interrupted.
    if ((await rolesOf(registry, account)).length === 0)
      throw new LedgerError("not_found", "there is no such account")
    const here = idsHere(memberIds(keyring.memberIds), account.value.email, workspace.id)
    await assertNoneIsHere(registry, workspace.id, [id, ...here])
    return account
  }
}
