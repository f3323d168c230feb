// The accounts that people sign in with. What is done to an account is recorded in the workspace `instance`, in the ledger of which
// nobody but the instance's admins can read who signs in where.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Keyring } from "../keyring.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { MemberDocument, Role } from "../store/documents.ts"
import type { Change, Document, Registry } from "../store/store.ts"
import { actSaid, recordPlanned } from "./acts.ts"
import { instanceWorkspace, type MemberPrincipal, type Principal } from "./allow.ts"
import { commitmentTo, createMacs } from "./credential.ts"
import { makeSetup, memberIds, roleOf, targetOf, type NewSetup } from "./members.ts"
import { createOpen, instanceOf, loginFailed, removalOf, sessionsOf, type Opened } from "./opening.ts"
import { createPasswords } from "./passwords.ts"
import { createSetups, type Setups } from "./setups.ts"
import type { Workspaces } from "./workspaces.ts"

export interface Accounts extends Setups {
  /** Refuses with `login_failed`, in the same words and after the same time whatever is wrong. */
  signIn(email: string, password: string): Promise<Opened>
  signOut(by: MemberPrincipal): Promise<void>
  /** Ends the member's other sessions. Refuses with `login_failed`. */
  changePassword(by: MemberPrincipal, old: string, fresh: string): Promise<void>
  /** A token that sets another password for a member who has lost theirs. */
  offerPassword(by: Principal, id: string): Promise<NewSetup>
  get(id: string): Promise<Document<"member">>
  workspacesOf(member: Document<"member">): Promise<readonly { readonly id: string; readonly role: Role }[]>
}

export interface AccountParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
  readonly keyring: Keyring
  readonly workspaces: Workspaces
  readonly limits: Pick<Limits, "sessionLifeMs" | "sessionsMax" | "setupLifeMs" | "passwordsAtOnceMax" | "passwordsWaitingMax">
}

export function createAccounts({ keyring, ...parts }: AccountParts): Accounts {
  const { registry, ledger, clock, workspaces, limits } = parts
  const macs = createMacs(keyring.peppers)
  const passwords = createPasswords(keyring.passwords, limits)
  const idOf = memberIds(keyring.memberIds)
  const open = createOpen({ ...parts, macOf: macs.of })

  const find = (id: string) => registry.get("member", instanceWorkspace, id)
  const get = async (id: string): Promise<Document<"member">> => {
    const found = await find(id)
    if (found === undefined) throw new LedgerError("not_found", "there is no such account")
    return found
  }
  const workspacesOf: Accounts["workspacesOf"] = async ({ id, value }) => {
    const roles = await Promise.all(
      value.workspaces.map(async (workspace) => ({ id: workspace, role: await roleOf(registry, workspace, id) })),
    )
    return roles.flatMap(({ id: workspace, role }) => (role === undefined ? [] : [{ id: workspace, role }]))
  }
  const resetRemoval = async ({ value: { resetId } }: Document<"member">): Promise<readonly Change[]> => {
    const setup = resetId === undefined ? undefined : await registry.get("setup", instanceWorkspace, resetId)
    return setup === undefined ? [] : [removalOf(setup)]
  }

  return {
    ...createSetups({ ...parts, macs, open, passwords, idOf }),
    get,
    workspacesOf,

    async signIn(email, password) {
      const found = await find(idOf(email))
      const isRight = await passwords.check(password, found?.value.password)
      if (!isRight || found === undefined || (await workspacesOf(found)).length === 0) throw loginFailed()
      return open(found.id, async (before) => {
        if (before?.value.password !== found.value.password) throw loginFailed()
        return { value: before.value, said: [], changes: [] }
      })
    },

    async signOut(by) {
      await recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const session = await registry.get("session", instanceWorkspace, by.sessionId)
        const member = await find(by.id)
        if (session === undefined || member === undefined) return undefined
        const said = actSaid(by, "security.session.end", { id: session.id, type: "session" }, {}, clock.now())
        const value = { ...member.value, sessions: member.value.sessions.filter((id) => id !== session.id) }
        return { said: [said], changes: [removalOf(session), put(member, value)] }
      })
    },

    async changePassword(by, old, fresh) {
      const found = await get(by.id)
      if (!(await passwords.check(old, found.value.password))) throw loginFailed()
      const password = await passwords.hash(fresh)
      await recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const before = await get(by.id)
        if (before.value.password !== found.value.password) throw loginFailed()
        const { resetId: _, sessions, ...kept } = before.value
        const others = await sessionsOf(
          registry,
          sessions.filter((id) => id !== by.sessionId),
        )
        const said = actSaid(
          by,
          "security.password.change",
          targetOf(by.id, before.value),
          { commitment: commitmentTo(password) },
          clock.now(),
        )
        const value = { ...kept, password, sessions: sessions.filter((id) => id === by.sessionId) }
        return { said: [said], changes: [put(before, value), ...others.map(removalOf), ...(await resetRemoval(before))] }
      })
    },

    async offerPassword(by, id) {
      return recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const before = await get(id)
        const nowMs = clock.now()
        const about = { workspace: instanceWorkspace, memberId: id, purpose: "password", nowMs, lifeMs: limits.setupLifeMs } as const
        const setup = makeSetup(macs.of, ledger.random, about)
        const said = actSaid(by, "security.password.offer", targetOf(id, before.value), setup.recorded, nowMs)
        const value = { ...before.value, resetId: setup.id }
        return { ...setup, said: [said], changes: [put(before, value), ...(await resetRemoval(before)), setup.change] }
      })
    },
  }
}

function put({ workspace, id, version }: Document<"member">, value: MemberDocument): Change {
  return { kind: "member", workspace, id, version, value }
}
