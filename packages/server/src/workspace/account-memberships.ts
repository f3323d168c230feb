// Adds an existing account to another workspace. The account keeps its id, its realm and its
// password.

import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Role } from "../store/documents.ts"
import type { Document } from "../store/store.ts"
import { adminDraft, nameOf, recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { idsHere, assertNoneIsHere, rolesOf, targetOf } from "./members.ts"
import { instanceOf } from "./open-session.ts"
import type { Workspaces } from "./workspaces.ts"

export interface Joining {
  /** The caller checks permission. Refuses with `not_found` and `conflict`. */
  join(by: Principal, workspace: Document<"workspace">, id: string, role: Role): Promise<void>
}

export interface JoiningParts extends Omit<AdminParts, "keyring"> {
  readonly workspaces: Workspaces
  readonly idOf: (email: string, realm: string) => string
  readonly get: (id: string) => Promise<Document<"member">>
}

export function createJoining({
  registry,
  ledger,
  clock,
  workspaces,
  idOf,
  get,
}: JoiningParts): Joining {
  return {
    async join(by, workspace, id, role) {
      // Before the first account there may be no instance workspace.
      await get(id)
      // The account changes first, as for an accepted invitation. If the process ends before the
      // membership exists, a repeat completes it.
      await recordPlanned(ledger, await instanceOf(workspaces), async () => {
        const before = await accountFor(workspace.id, id)
        const said = adminDraft(
          by,
          "security.account.join",
          targetOf(id, before.value),
          { workspaceId: workspace.id },
          clock.now(),
        )
        const joined = [...new Set([...before.value.workspaces, workspace.id])]
        return {
          said: [said],
          changes: [{ ...before, value: { ...before.value, workspaces: joined } }],
        }
      })
      await recordPlanned(ledger, workspace, async () => {
        const { email, name } = (await accountFor(workspace.id, id)).value
        const nowMs = clock.now()
        const at = isoTime(nowMs)
        const value = {
          email,
          ...(name === undefined ? {} : { name }),
          role,
          createdAt: at,
          createdBy: nameOf(by),
          joinedAt: at,
        }
        const said = adminDraft(by, "security.member.add", targetOf(id, value), { role }, nowMs)
        return { said: [said], changes: [{ kind: "membership", id, version: 0, value }] }
      })
    },
  }

  /** An account that may join a workspace. */
  async function accountFor(workspace: string, id: string): Promise<Document<"member">> {
    const account = await get(id)
    // An account without a workspace is being removed, or its removal was interrupted.
    if ((await rolesOf(registry, account)).length === 0)
      throw new LedgerError("not_found", "there is no such account")
    await assertNoneIsHere(registry, workspace, [
      id,
      ...idsHere(idOf, account.value.email, workspace),
    ])
    return account
  }
}
