// Has an account belong to another workspace as well, whichever realm it is of. Its id, its realm and its password stay what they are.

import { isoTime, type Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Role } from "../store/documents.ts"
import type { Document, Registry } from "../store/store.ts"
import { actSaid, nameOf, recordPlanned } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { assertNoneIsHere, idsHere, rolesOf, targetOf } from "./members.ts"
import { instanceOf } from "./open-session.ts"
import type { Workspaces } from "./workspaces.ts"

export interface Joining {
  /** Whether `by` may is for the caller to ask. Refuses with `not_found` and `conflict`. */
  join(by: Principal, workspace: Document<"workspace">, id: string, role: Role): Promise<void>
}

export interface JoiningParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
  readonly workspaces: Workspaces
  readonly idOf: (email: string, realm: string) => string
  readonly get: (id: string) => Promise<Document<"member">>
}

export function createJoining({ registry, ledger, clock, workspaces, idOf, get }: JoiningParts): Joining {
  return {
    async join(by, workspace, id, role) {
      // Where nobody has an account, there may be no ledger of accounts.
      await get(id)
      // The account comes first, as when an invitation is taken up: cut short before the membership is there, it is done again.
      await recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const before = await accountFor(workspace.id, id)
        const said = actSaid(by, "security.account.join", targetOf(id, before.value), { workspaceId: workspace.id }, clock.now())
        const joined = [...new Set([...before.value.workspaces, workspace.id])]
        return { said: [said], changes: [{ ...before, value: { ...before.value, workspaces: joined } }] }
      })
      await recordPlanned(ledger, workspace, async () => {
        const { email, name } = (await accountFor(workspace.id, id)).value
        const nowMs = clock.now()
        const at = isoTime(nowMs)
        const value = { email, ...(name === undefined ? {} : { name }), role, createdAt: at, createdBy: nameOf(by), joinedAt: at }
        const said = actSaid(by, "security.member.add", targetOf(id, value), { role }, nowMs)
        return { said: [said], changes: [{ kind: "membership", id, version: 0, value }] }
      })
    },
  }

  /** An account that may become a member of a workspace. */
  async function accountFor(workspace: string, id: string): Promise<Document<"member">> {
    const account = await get(id)
    // One that belongs nowhere is about to be removed, or was to be when the process ended.
    if ((await rolesOf(registry, account)).length === 0) throw new LedgerError("not_found", "there is no such account")
    await assertNoneIsHere(registry, workspace, [id, ...idsHere(idOf, account.value.email, workspace)])
    return account
  }
}
