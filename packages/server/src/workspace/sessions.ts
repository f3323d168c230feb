// Finds the member of a session cookie. Sessions are opened in open-session.ts and ended in
// accounts.ts.

import { createLru } from "../runtime/lru-cache.ts"
import type { Role, Account, Document } from "../store/documents.ts"
import type { AdminParts } from "./admin-entries.ts"
import { instanceWorkspace, type MemberPrincipal } from "./permissions.ts"
import { boundOf, createMacs, parseCredential } from "./credential-format.ts"
import { roleOf } from "./members.ts"
import { accountsOf } from "./open-session.ts"

export interface Sessions {
  /**
   * The member of a session, for a request that names this workspace, or no workspace. Undefined if
   * the token is unknown, wrong or expired.
   */
  recognise(text: string, workspace: string | undefined): Promise<MemberPrincipal | undefined>
}

/**
 * Beyond this many, the session idle longest is forgotten. It then counts as last used when this
 * process started.
 */
const seenMax = 100_000

export function createSessions({ registry, clock, keyring, limits }: AdminParts): Sessions {
  const macs = createMacs(keyring.peppers)
  const startedMs = clock.now()
  /** When each session was used last. In memory only: it would cost a write for each request. */
  const seen = createLru<number>(seenMax)

  return {
    async recognise(text, workspace) {
      const credential = parseCredential(text)
      const session =
        credential?.kind === "s"
          ? await registry.get("session", instanceWorkspace, credential.id)
          : undefined
      if (
        session === undefined ||
        !macs.fits(text, session.value.mac, boundOf(session.workspace, session.value))
      )
        return undefined
      if (!isOpen(session)) return undefined
      const members = await accountsOf(registry, session)
      const principals = await Promise.all(
        members.map((member) => principalOf(member, session.id, workspace)),
      )
      const [first] = principals
      if (first === undefined) return undefined
      seen.set(session.id, clock.now())
      // The session acts as the account with the most rights here.
      const named = (role: Role) => principals.find((one) => one.role === role)
      return (
        principals.find(({ presides }) => presides) ?? named("admin") ?? named("viewer") ?? first
      )
    },
  }

  async function principalOf(
    { id, value }: Account,
    sessionId: string,
    workspace: string | undefined,
  ): Promise<MemberPrincipal> {
    // A workspace that is not in the member's list needs no look-up.
    const roleIn = async (at: string) =>
      value.workspaces.includes(at) ? roleOf(registry, at, id) : undefined
    const role = workspace === undefined ? undefined : await roleIn(workspace)
    return {
      kind: "member",
      id,
      email: value.email,
      sessionId,
      workspace,
      role,
      presides: (await roleIn(instanceWorkspace)) === "admin",
    }
  }

  function isOpen({ id, value: { createdAt, expiresAt } }: Document<"session">): boolean {
    const nowMs = clock.now()
    const seenMs = seen.get(id) ?? Math.max(startedMs, Date.parse(createdAt))
    return nowMs < Date.parse(expiresAt) && nowMs - seenMs < limits.sessionIdleMs
  }
}
