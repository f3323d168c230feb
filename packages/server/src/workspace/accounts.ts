// Accounts: people sign in with them. Changes to accounts are recorded in the workspace `instance`,
// so only the instance's admins can read who signs in where.

import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { MemberDocument, Role } from "../store/documents.ts"
import type { Change, Document } from "../store/store.ts"
import { adminDraft, recordPlanned, type AdminParts } from "./admin-entries.ts"
import { instanceWorkspace, type MemberPrincipal, type Principal } from "./permissions.ts"
import { commitmentTo, createMacs } from "./credential-format.ts"
import { makeSetup, memberIds, rolesOf, targetOf, type NewSetup } from "./members.ts"
import type { Joining } from "./account-memberships.ts"
import { accountsAtOnceMax, createLogins } from "./login-index.ts"
import {
  accountsOf,
  asMember,
  createOpen,
  endingsOf,
  instanceOf,
  loginFailed,
  removalOf,
  resetRemoval,
  sessionsOf,
  type Opened,
  type Opening,
} from "./open-session.ts"
import { createPasswords, type Stretched } from "./password-hashes.ts"
import type { Setups } from "./setup-tokens.ts"
import type { Workspaces } from "./workspaces.ts"
import { createSetups } from "./setup-tokens.ts"
import { createJoining } from "./account-memberships.ts"

export interface Accounts extends Setups, Joining {
  /**
   * Refuses with `login_failed`. The message and the time taken are the same, whatever is wrong.
   */
  signIn(email: string, password: string): Promise<Opened>
  signOut(by: MemberPrincipal): Promise<void>
  /** Ends the member's other sessions. Refuses with `login_failed`. */
  changePassword(by: MemberPrincipal, old: string, fresh: string): Promise<void>
  /** Creates a token with which a member who lost the password sets a new one. */
  offerPassword(by: Principal, id: string): Promise<NewSetup>
  get(id: string): Promise<Document<"member">>
  /** The accounts that a session speaks for. */
  signedIn(sessionId: string): Promise<readonly Document<"member">[]>
  workspacesOf(
    member: Document<"member">,
  ): Promise<readonly { readonly id: string; readonly role: Role }[]>
  /** Deletes an account that belongs to no workspace any more. Only its entries remain. */
  removeIfNowhere(by: Principal, id: string): Promise<void>
}

export interface AccountParts extends AdminParts {
  readonly workspaces: Workspaces
  readonly limits: Pick<Limits, "sessionLifeMs" | "sessionsMax" | "setupLifeMs">
}

export function createAccounts({ keyring, ...parts }: AccountParts): Accounts {
  const { registry, ledger, clock, workspaces, limits } = parts
  const macs = createMacs(keyring.peppers)
  const idOf = memberIds(keyring.memberIds)
  const logins = createLogins(registry, createPasswords(keyring.passwords), keyring, (email) =>
    idOf(email, instanceWorkspace),
  )
  const open = createOpen({ ...parts, macOf: macs.of })

  const find = (id: string) => registry.get("member", instanceWorkspace, id)
  const get = async (id: string): Promise<Document<"member">> => {
    const found = await find(id)
    if (found === undefined) throw new LedgerError("not_found", "there is no such account")
    return found
  }
  const signedIn: Accounts["signedIn"] = async (sessionId) => {
    const session = await registry.get("session", instanceWorkspace, sessionId)
    return session === undefined ? [] : accountsOf(registry, session)
  }

  return {
    ...createSetups({ ...parts, macs, open, idOf, logins }),
    ...createJoining({ ...parts, idOf, get }),
    get,
    signedIn,
    workspacesOf: (member) => rolesOf(registry, member),

    async signIn(email, password) {
      const stretched = await logins.stretch(email, password)
      const [first, ...others] = (await opened(email, stretched)).map(
        ({ id, value: { password: kept } }) => ({
          id,
          async prepare(before: Document<"member"> | undefined) {
            if (before?.value.password !== kept) throw loginFailed()
            return logins.isUnbound(kept)
              ? bound(before, stretched)
              : { value: before.value, said: [], changes: [] }
          },
        }),
      )
      if (first === undefined) throw loginFailed()
      return open([first, ...others])
    },

    async signOut(by) {
      await recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const session = await registry.get("session", instanceWorkspace, by.sessionId)
        if (session === undefined) return undefined
        const said = adminDraft(
          by,
          "security.session.end",
          { id: session.id, type: "session" },
          {},
          clock.now(),
        )
        const left = (await accountsOf(registry, session)).map((member) => {
          return put(member, {
            ...member.value,
            sessions: member.value.sessions.filter((id) => id !== session.id),
          })
        })
        return { said: [said], changes: [removalOf(session), ...left] }
      })
    },

    async changePassword(by, old, fresh) {
      const given = await logins.stretch(by.email, old)
      const found = async () => {
        const fitting = (await signedIn(by.sessionId)).filter(({ id, value }) =>
          given.fits(id, value.password),
        )
        if (fitting.length === 0) throw loginFailed()
        return fitting
      }
      await found()
      const chosen = await logins.stretch(by.email, fresh)
      await recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const changed = await found()
        const plans = await Promise.all(
          changed.map((member) => changedPassword(by, member, chosen)),
        )
        const ended = new Map(
          plans.flatMap(({ ended }) => ended).map((session) => [session.id, removalOf(session)]),
        )
        return {
          said: plans.map(({ said }) => said),
          changes: [...plans.flatMap(({ changes }) => changes), ...ended.values()],
        }
      })
    },

    async offerPassword(by, id) {
      return recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const before = await get(id)
        const nowMs = clock.now()
        const about = {
          workspace: instanceWorkspace,
          memberId: id,
          purpose: "password",
          nowMs,
          lifeMs: limits.setupLifeMs,
        } as const
        const setup = makeSetup(macs.of, ledger.random, about)
        const said = adminDraft(
          by,
          "security.password.offer",
          targetOf(id, before.value),
          setup.recorded,
          nowMs,
        )
        const value = { ...before.value, resetId: setup.id }
        return {
          ...setup,
          said: [said],
          changes: [put(before, value), ...(await resetRemoval(registry, before)), setup.change],
        }
      })
    },

    async removeIfNowhere(by, id) {
      if ((await find(id)) === undefined) return
      await recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const before = await find(id)
        if (before === undefined) return undefined
        const memberships = await Promise.all(
          before.value.workspaces.map((workspace) => registry.get("membership", workspace, id)),
        )
        // A pending invitation counts too: somebody may be accepting it right now.
        if (memberships.some((one) => one !== undefined)) return undefined
        const said = adminDraft(
          by,
          "security.account.remove",
          targetOf(id, before.value),
          {},
          clock.now(),
        )
        return {
          said: [said],
          changes: [put(before, null), ...(await endingsOf(registry, before))],
        }
      })
    },
  }

  /** The accounts with this e-mail and password that belong to a workspace. */
  async function opened(
    email: string,
    stretched: Stretched,
  ): Promise<readonly Document<"member">[]> {
    const person = idOf(email, instanceWorkspace)
    const fitting: Document<"member">[] = []
    for (const id of logins.accountsOf(stretched)) {
      const member = await find(id)
      if (member === undefined || idOf(member.value.email, instanceWorkspace) !== person) continue
      if (
        !stretched.fits(id, member.value.password) ||
        (await rolesOf(registry, member)).length === 0
      )
        continue
      if (fitting.push(member) === accountsAtOnceMax) break
    }
    return fitting
  }

  /** Binds a password that an older version stored to its account. */
  function bound({ id, value }: Document<"member">, stretched: Stretched): Opening {
    const kept = logins.keep(stretched, id)
    const recorded = {
      before: commitmentTo(value.password),
      commitment: commitmentTo(kept.password),
    }
    const said = adminDraft(
      asMember(id, value),
      "security.password.bind",
      targetOf(id, value),
      recorded,
      clock.now(),
    )
    return { value: { ...value, ...kept }, said: [said], changes: [] }
  }

  async function changedPassword(
    by: MemberPrincipal,
    before: Document<"member">,
    chosen: Stretched,
  ) {
    const { resetId: _, sessions, ...kept } = before.value
    const chosenHere = logins.keep(chosen, before.id)
    const [mine, others] = [
      sessions.filter((id) => id === by.sessionId),
      sessions.filter((id) => id !== by.sessionId),
    ]
    const target = targetOf(before.id, before.value)
    // This session continues. All others end.
    const recorded = { sessionId: by.sessionId, commitment: commitmentTo(chosenHere.password) }
    return {
      said: adminDraft(by, "security.password.change", target, recorded, clock.now()),
      changes: [
        put(before, { ...kept, ...chosenHere, sessions: mine }),
        ...(await resetRemoval(registry, before)),
      ],
      ended: await sessionsOf(registry, others),
    }
  }
}

function put({ id, version }: Document<"member">, value: MemberDocument | null): Change {
  return { kind: "member", id, version, value }
}
