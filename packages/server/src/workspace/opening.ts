// Opens sessions. Whatever is done to an account before it is signed in to commits together with the session.

import { isoTime, type Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Ledger, Said } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { MemberDocument } from "../store/documents.ts"
import type { Change, Document, Registry } from "../store/store.ts"
import { actSaid, recordPlanned } from "./acts.ts"
import { instanceWorkspace, type MemberPrincipal } from "./allow.ts"
import { boundOf, commitmentTo, formatCredential, makeCredential, type MacOf } from "./credential.ts"
import type { Workspaces } from "./workspaces.ts"

/** A session that has just been opened. */
export interface Opened {
  readonly member: Document<"member">
  /** The session's credential, for the cookie. */
  readonly token: string
}

/** What becomes of an account when a session of it is opened. */
export interface Opening {
  readonly value: MemberDocument
  readonly said: readonly Said[]
  readonly changes: readonly Change[]
}

/** Opens a session of an account, together with what `prepare` makes of the account. Those that are over, or too many, are removed with it. */
export type Open = (id: string, prepare: (before: Document<"member"> | undefined) => Promise<Opening>) => Promise<Opened>

export interface OpeningParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
  readonly macOf: MacOf
  readonly workspaces: Workspaces
  readonly limits: Pick<Limits, "sessionLifeMs" | "sessionsMax">
}

export function createOpen({ registry, ledger, clock, macOf, workspaces, limits }: OpeningParts): Open {
  return async (id, prepare) => {
    const opened = await recordPlanned(ledger, await instanceOf(workspaces), async () => {
      const before = await registry.get("member", instanceWorkspace, id)
      const { value, said, changes } = await prepare(before)
      const nowMs = clock.now()
      const credential = makeCredential("s", ledger.random)
      const token = formatCredential(credential)
      const expiresAt = isoTime(nowMs + limits.sessionLifeMs)
      const about = { memberId: id, createdAt: isoTime(nowMs), expiresAt }
      const session = { ...about, mac: macOf(token, boundOf(instanceWorkspace, about)) }
      const { kept, removed } = await pruned(value.sessions, nowMs)
      const member = { ...value, sessions: [...kept, credential.id] }
      const created = actSaid(
        asMember(id, value),
        "security.session.create",
        { id: credential.id, type: "session" },
        { expiresAt, commitment: commitmentTo(session.mac) },
        nowMs,
      )
      const puts: readonly Change[] = [
        { kind: "member", workspace: instanceWorkspace, id, version: before?.version ?? 0, value: member },
        { kind: "session", workspace: instanceWorkspace, id: credential.id, version: 0, value: session },
      ]
      return { token, said: [...said, created], changes: [...puts, ...changes, ...removed] }
    })
    const member = await registry.get("member", instanceWorkspace, id)
    if (member === undefined) throw new Error("an account that was just recorded is not there")
    return { token: opened.token, member }
  }

  async function pruned(ids: readonly string[], nowMs: number): Promise<{ kept: readonly string[]; removed: readonly Change[] }> {
    const sessions = await sessionsOf(registry, ids)
    const open = sessions.filter(({ value }) => Date.parse(value.expiresAt) > nowMs)
    const kept = open.slice(Math.max(0, open.length - limits.sessionsMax + 1)).map(({ id }) => id)
    return { kept, removed: sessions.filter(({ id }) => !kept.includes(id)).map(removalOf) }
  }
}

export async function sessionsOf(registry: Registry, ids: readonly string[]): Promise<readonly Document<"session">[]> {
  const sessions = await Promise.all(ids.map((id) => registry.get("session", instanceWorkspace, id)))
  return sessions.filter((one) => one !== undefined)
}

export function removalOf({ kind, workspace, id, version }: Document<"session" | "setup">): Change {
  return { kind, workspace, id, version, value: null }
}

/** Whoever sets up or signs in acts as the member that this makes them. */
export function asMember(id: string, { email }: { readonly email: string }): MemberPrincipal {
  return { kind: "member", id, email, sessionId: "", workspace: undefined, role: undefined, presides: false }
}

export function loginFailed(): LedgerError {
  return new LedgerError("login_failed", "the e-mail or the password is wrong")
}

/** Makes the workspace `instance`, if it is not there. */
export async function makeInstance(registry: Registry, workspaces: Workspaces): Promise<void> {
  if ((await registry.get("workspace", instanceWorkspace, instanceWorkspace)) !== undefined) return
  try {
    await workspaces.create({ kind: "instance" }, { id: instanceWorkspace, name: "This instance" })
  } catch (error) {
    // Somebody else has just made it.
    if (!(error instanceof LedgerError) || error.code !== "conflict") throw error
  }
}

/** Where accounts and sessions are kept; there once there is a member. */
export function instanceOf(workspaces: Workspaces): Promise<Document<"workspace">> {
  return workspaces.get(instanceWorkspace)
}
