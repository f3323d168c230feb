// Set-up tokens: they create the first account, accept an invitation or set a new password. Each
// works once.

import type { Setup } from "@tallystick/client/wire"
import { isoTime } from "../clock.ts"
import { LedgerError, usualError } from "../error.ts"
import { changed, type MemberDocument, type Document, type Membership } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import type { AccountParts } from "./accounts.ts"
import { recordPlanned } from "./admin-entries.ts"
import { instanceWorkspace } from "./permissions.ts"
import {
  boundOf,
  commitmentTo,
  createMacs,
  parseCredential,
  sameText,
} from "./credential-format.ts"
import { keptCredential } from "./credential-lookup.ts"
import type { Logins } from "./login-index.ts"
import { hasAdmin, rolesOf, targetOf, type MakeSetup, type NewSetup } from "./members.ts"
import {
  asMember,
  endingsOf,
  makeInstance,
  foundOf,
  type OpenedSession,
  type OpenSession,
  type SessionAccount,
} from "./open-session.ts"
import type { StretchedPassword } from "./password-hashes.ts"

export interface Setups {
  /**
   * A token for the first member, who becomes admin of the instance; undefined once there is an
   * admin. A new token replaces the one before.
   */
  offerFirst(): Promise<string | undefined>
  /**
   * Uses a set-up token and signs in. Refuses with `unauthorized`, `token_expired`, `login_failed`.
   */
  setUp(request: Setup): Promise<OpenedSession>
}

export interface SetupParts extends AccountParts {
  readonly openSession: OpenSession
  readonly idOf: (email: string, realm: string) => string
  readonly logins: Logins
  readonly makeSetup: MakeSetup
}

export function createSetups(parts: SetupParts): Setups {
  const { registry, clock, keyring, workspaces } = parts
  const macs = createMacs(keyring.peppers)
  /** In memory only: the service shows it at its start, and the next start makes another one. */
  let first: NewSetup | undefined

  return {
    async offerFirst() {
      if (await hasAdmin(registry)) return undefined
      first = parts.makeSetup(instanceWorkspace, { memberId: "", purpose: "join" }, clock.now())
      return first.token
    },

    async setUp(request) {
      const credential = parseCredential(request.token)
      if (credential?.kind !== "x") throw unknownSetup()
      if (first !== undefined && sameText(request.token, first.token))
        return setUpFirst(first, request)
      const setup = await keptCredential(registry, "setup", credential.id)
      if (
        setup === undefined ||
        !macs.fits(request.token, setup.value.mac, boundOf(setup.workspace, setup.value))
      )
        throw unknownSetup()
      refuseExpired(setup.value.expiresAt)
      return setup.value.purpose === "join"
        ? join(parts, setup, request)
        : replacePassword(parts, setup, request.password)
    },
  }

  async function setUpFirst(
    setup: NewSetup,
    { email, name, password }: Setup,
  ): Promise<OpenedSession> {
    refuseExpired(setup.expiresAt)
    if (email === undefined)
      throw new LedgerError("invalid_field", "email is required for the first member")
    // It works once: a second request is refused while this one runs. If this one fails, the token
    // is valid again.
    first = undefined
    try {
      const chosen = await parts.logins.stretch(email, password)
      await makeInstance(registry, workspaces)
      return await parts.openSession([firstAdmin(parts, email, name, chosen)])
    } catch (error) {
      first ??= setup
      throw error
    }
  }

  function refuseExpired(expiresAt: string): void {
    if (Date.parse(expiresAt) <= clock.now())
      throw new LedgerError("token_expired", "this set-up token has expired; ask for another one")
  }
}

function firstAdmin(
  { registry, workspaces, idOf, logins }: SetupParts,
  email: string,
  name: string | undefined,
  chosen: StretchedPassword,
): SessionAccount {
  const id = idOf(email, instanceWorkspace)
  return {
    id,
    async prepare(before, nowMs) {
      const instance = await workspaces.get(instanceWorkspace)
      // An admin whom the holder of the instance key invited, or the user of another server's
      // token, may have been faster.
      if (await hasAdmin(registry)) throw unknownSetup()
      // An account that belongs to a workspace by now is kept, so its password must match.
      const roles = before === undefined ? [] : await rolesOf(registry, before)
      if (before !== undefined && roles.length > 0 && !chosen.fits(id, before.value.password))
        throw usualError("login_failed")
      const joined = [...new Set([...roles.map((role) => role.id), instanceWorkspace])]
      const value = newMember(email, name, logins.keep(chosen, id), joined, nowMs)
      const invited = await registry.get("membership", instanceWorkspace, id)
      const { createdAt } = value
      const times = { createdAt, createdBy: id, joinedAt: createdAt }
      const named = { email, ...(name !== undefined && { name }) }
      const act = {
        by: asMember(id, value),
        action: "security.member.create",
        target: targetOf(id, value),
        metadata: { role: "admin", first: true, commitment: commitmentTo(value.password) },
        changes: [
          changed(
            { kind: "membership", id, version: invited?.version ?? 0 },
            { ...named, role: "admin", ...times },
          ),
          ...(before === undefined ? [] : await endingsOf(registry, before)),
          // If two servers set up a first admin at once, both change this document, and one wins.
          changed(instance, instance.value),
        ],
      }
      return { value, act }
    },
  }
}

/**
 * The account is written first, the membership second, each with an entry in its own ledger. If
 * the process ends in between, the person repeats the request with the same token and password.
 */
async function join(
  parts: SetupParts,
  setup: Document<"setup">,
  request: Setup,
): Promise<OpenedSession> {
  const { registry, workspaces, idOf } = parts
  const { memberId } = setup.value
  const { email } = request
  const invitation = await invitationOf(registry, setup)
  const realms = [instanceWorkspace, setup.workspace]
  if (email !== undefined && !realms.some((realm) => idOf(email, realm) === memberId))
    throw new LedgerError("invalid_field", "email must be the one that was invited, or be left out")
  await makeInstance(registry, workspaces)
  const opened = await parts.openSession([await invitedAccount(parts, setup, invitation, request)])
  await recordPlanned(parts, await workspaces.get(setup.workspace), async (nowMs) => {
    const before = await invitationOf(registry, setup)
    const { setupId: _, ...kept } = before.value
    return {
      by: asMember(memberId, opened.members[0].value),
      action: "security.member.join",
      target: targetOf(memberId, kept),
      metadata: { role: kept.role },
      changes: [changed(before, { ...kept, joinedAt: isoTime(nowMs) }), changed(setup, null)],
    }
  })
  return opened
}

/**
 * The account of an invited person: a new one with this password, or the one that is in this
 * realm, if the password is its password.
 */
async function invitedAccount(
  { registry, logins }: SetupParts,
  { workspace, value: { memberId: id } }: Document<"setup">,
  invitation: Membership,
  request: Setup,
): Promise<SessionAccount> {
  const { email, name = request.name } = invitation.value
  const given = await logins.stretch(email, request.password)
  return {
    id,
    async prepare(before, nowMs) {
      if (before !== undefined && (await rolesOf(registry, before)).length > 0) {
        if (!given.fits(id, before.value.password)) throw usualError("login_failed")
        const joined = [...new Set([...before.value.workspaces, workspace])]
        return { value: { ...before.value, workspaces: joined } }
      }
      // An account without a workspace has no owner, whatever its password is, so it is replaced.
      const value = newMember(email, name, logins.keep(given, id), [workspace], nowMs)
      const act = {
        by: asMember(id, value),
        action: "security.member.create",
        target: targetOf(id, value),
        metadata: { commitment: commitmentTo(value.password) },
        changes: before === undefined ? [] : await endingsOf(registry, before),
      }
      return { value, act }
    },
  }
}

async function invitationOf(registry: Registry, setup: Document<"setup">): Promise<Membership> {
  const membership = await registry.get("membership", setup.workspace, setup.value.memberId)
  if (membership?.value.setupId !== setup.id) throw unknownSetup()
  return membership
}

async function replacePassword(
  { registry, logins, openSession }: SetupParts,
  setup: Document<"setup">,
  fresh: string,
): Promise<OpenedSession> {
  const id = setup.value.memberId
  const found = await registry.get("member", instanceWorkspace, id)
  if (found === undefined) throw unknownSetup()
  const chosen = await logins.stretch(found.value.email, fresh)
  const prepare: SessionAccount["prepare"] = async (before) => {
    if (before?.value.resetId !== setup.id) throw unknownSetup()
    const { resetId: _, ...rest } = before.value
    const ended = await foundOf(registry, "session", rest.sessions)
    const value = { ...rest, ...logins.keep(chosen, id), sessions: [] }
    const act = {
      by: asMember(id, rest),
      action: "security.password.replace",
      target: targetOf(id, rest),
      metadata: { commitment: commitmentTo(value.password) },
      changes: [...ended.map((one) => changed(one, null)), changed(setup, null)],
    }
    return { value, act }
  }
  return openSession([{ id, prepare }])
}

function newMember(
  email: string,
  name: string | undefined,
  kept: Pick<MemberDocument, "password" | "login">,
  workspaces: readonly string[],
  nowMs: number,
): MemberDocument {
  const named = { email, ...kept, ...(name !== undefined && { name }) }
  return { ...named, createdAt: isoTime(nowMs), workspaces, sessions: [] }
}

function unknownSetup(): LedgerError {
  return new LedgerError("unauthorized", "the set-up token is unknown, or was used already")
}
