// Adds an existing account to another workspace. The account keeps its id, its realm and its
// password.

import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { changed, created, type Role, type Account, type Workspace } from "../store/documents.ts"
import { nameOf, recordPlanned } from "./admin-entries.ts"
import type { AccountParts } from "./accounts.ts"
import { instanceWorkspace, type Principal } from "./permissions.ts"
import { assertNoneIsHere, idsHere, memberIds, rolesOf, targetOf } from "./members.ts"
import { required } from "./required-document.ts"

/** The caller checks permission. Refuses with `not_found` and `conflict`. */
export async function joinWorkspace(
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
