// Set-up tokens: they create the first account, accept an invitation or set a new password. Each
// works once.

import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { MemberDocument } from "../store/documents.ts"
import type { Document } from "../store/store.ts"
import { adminDraft, recordPlanned } from "./admin-entries.ts"
import { instanceWorkspace } from "./permissions.ts"
import { boundOf, commitmentTo, parseCredential, sameText, type Macs } from "./credential-format.ts"
import { keptCredential } from "./credential-lookup.ts"
import type { Logins } from "./login-index.ts"
import { hasAdmin, makeSetup, rolesOf, targetOf, type NewSetup } from "./members.ts"
import {
  asMember,
  endingsOf,
  loginFailed,
  makeInstance,
  removalOf,
  sessionsOf,
  type Open,
  type Opened,
  type OpeningParts,
  type Preparing,
} from "./open-session.ts"

export interface SetupRequest {
  readonly token: string
  readonly email?: string | undefined
  readonly name?: string | undefined
  readonly password: string
}

export interface Setups {
  /**
   * A token for the first member, who becomes admin of the instance; undefined once there is an
   * admin. A new token replaces the one before.
   */
  offerFirst(): Promise<string | undefined>
  /**
   * Uses a set-up token and signs in. Refuses with `unauthorized`, `token_expired`, `login_failed`.
   */
  setUp(request: SetupRequest): Promise<Opened>
}

export interface SetupParts extends Omit<OpeningParts, "limits" | "macOf"> {
  readonly macs: Macs
  readonly open: Open
  readonly idOf: (email: string, realm: string) => string
  readonly logins: Logins
  readonly limits: { readonly setupLifeMs: number }
}

export function createSetups({
  registry,
  ledger,
  clock,
  macs,
  workspaces,
  open,
  idOf,
  logins,
  limits,
}: SetupParts): Setups {
  /**
   * In memory only: the service shows it at its start and makes another at the next, so it need not
   * be on disk.
   */
  let first: NewSetup | undefined

  return {
    async offerFirst() {
      if (await hasAdmin(registry)) return undefined
      const about = {
        workspace: instanceWorkspace,
        memberId: "",
        purpose: "join",
        nowMs: clock.now(),
        lifeMs: limits.setupLifeMs,
      } as const
      first = makeSetup(macs.of, ledger.random, about)
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
        ? join(setup, request)
        : replacePassword(setup, request.password)
    },
  }

  async function setUpFirst(
    setup: NewSetup,
    { email, name, password }: SetupRequest,
  ): Promise<Opened> {
    refuseExpired(setup.expiresAt)
    if (email === undefined)
      throw new LedgerError("invalid_field", "email is required for the first member")
    // It works once: a second request is refused while this one runs. If this one fails, the token
    // is valid again.
    first = undefined
    try {
      const chosen = await logins.stretch(email, password)
      const id = idOf(email, instanceWorkspace)
      await makeInstance(registry, workspaces)
      const prepare: Preparing["prepare"] = async (before) => {
        // The holder of the instance key may have invited an admin, who was faster.
        if (await hasAdmin(registry)) throw unknownSetup()
        // An account that belongs to a workspace by now is kept, so its password must match.
        const belongsTo =
          before === undefined ? [] : (await rolesOf(registry, before)).map((role) => role.id)
        if (before !== undefined && belongsTo.length > 0 && !chosen.fits(id, before.value.password))
          throw loginFailed()
        const ended = before === undefined ? [] : await endingsOf(registry, before)
        const invited = await registry.get("membership", instanceWorkspace, id)
        const nowMs = clock.now()
        const made = newMember(
          { email, name, ...logins.keep(chosen, id), workspace: instanceWorkspace },
          nowMs,
        )
        const value = { ...made, workspaces: [...new Set([...belongsTo, instanceWorkspace])] }
        const { createdAt } = value
        const named = name === undefined ? {} : { name }
        const membership = {
          email,
          ...named,
          role: "admin",
          createdAt,
          createdBy: id,
          joinedAt: createdAt,
        } as const
        const said = adminDraft(
          asMember(id, value),
          "security.member.create",
          targetOf(id, value),
          { role: "admin", first: true, commitment: commitmentTo(value.password) },
          nowMs,
        )
        const change = {
          kind: "membership",
          id,
          version: invited?.version ?? 0,
          value: membership,
        } as const
        return { value, said: [said], changes: [change, ...ended] }
      }
      return await open([{ id, prepare }])
    } catch (error) {
      first ??= setup
      throw error
    }
  }

  /**
   * The account is written first, the membership second, each with an entry in its own ledger. If
   * the process ends in between, the person repeats the request with the same token and password.
   */
  async function join(setup: Document<"setup">, request: SetupRequest): Promise<Opened> {
    const { memberId } = setup.value
    const invitation = await invitationOf(setup)
    const realms = [instanceWorkspace, setup.workspace]
    if (
      request.email !== undefined &&
      !realms.some((realm) => idOf(request.email ?? "", realm) === memberId)
    )
      throw new LedgerError(
        "invalid_field",
        "email must be the one that was invited, or be left out",
      )
    await makeInstance(registry, workspaces)
    const opened = await openInvited(setup, invitation, request)
    await recordPlanned(ledger, await workspaces.get(setup.workspace), async () => {
      const before = await invitationOf(setup)
      const nowMs = clock.now()
      const { setupId: _, ...kept } = before.value
      const by = asMember(memberId, opened.members[0].value)
      const said = adminDraft(
        by,
        "security.member.join",
        targetOf(memberId, kept),
        { role: kept.role },
        nowMs,
      )
      const value = { ...kept, joinedAt: isoTime(nowMs) }
      const change = { kind: "membership", id: before.id, version: before.version, value } as const
      return { said: [said], changes: [change, removalOf(setup)] }
    })
    return opened
  }

  /**
   * Signs in an invited person: with a new password if there is no account in this realm, else with
   * the account's password.
   */
  async function openInvited(
    { workspace, value: { memberId: id } }: Document<"setup">,
    invitation: Document<"membership">,
    request: SetupRequest,
  ): Promise<Opened> {
    const { email, name = request.name } = invitation.value
    const given = await logins.stretch(email, request.password)
    const prepare: Preparing["prepare"] = async (before) => {
      if (before !== undefined && (await rolesOf(registry, before)).length > 0) {
        if (!given.fits(id, before.value.password)) throw loginFailed()
        return {
          value: {
            ...before.value,
            workspaces: [...new Set([...before.value.workspaces, workspace])],
          },
          said: [],
          changes: [],
        }
      }
      // An account without a workspace has no owner, whatever its password is: it is made anew.
      const nowMs = clock.now()
      const value = newMember({ email, name, ...logins.keep(given, id), workspace }, nowMs)
      const recorded = { commitment: commitmentTo(value.password) }
      const said = adminDraft(
        asMember(id, value),
        "security.member.create",
        targetOf(id, value),
        recorded,
        nowMs,
      )
      return {
        value,
        said: [said],
        changes: before === undefined ? [] : await endingsOf(registry, before),
      }
    }
    return open([{ id, prepare }])
  }

  async function invitationOf({
    id,
    workspace,
    value,
  }: Document<"setup">): Promise<Document<"membership">> {
    const membership = await registry.get("membership", workspace, value.memberId)
    if (membership?.value.setupId !== id) throw unknownSetup()
    return membership
  }

  async function replacePassword(
    { id: setupId, ...setup }: Document<"setup">,
    fresh: string,
  ): Promise<Opened> {
    const { memberId: id } = setup.value
    const found = await registry.get("member", instanceWorkspace, id)
    if (found === undefined) throw unknownSetup()
    const chosen = await logins.stretch(found.value.email, fresh)
    const prepare: Preparing["prepare"] = async (before) => {
      if (before?.value.resetId !== setupId) throw unknownSetup()
      const { resetId: _, ...rest } = before.value
      const ended = (await sessionsOf(registry, rest.sessions)).map(removalOf)
      const value = { ...rest, ...logins.keep(chosen, id), sessions: [] }
      const recorded = { commitment: commitmentTo(value.password) }
      const said = adminDraft(
        asMember(id, rest),
        "security.password.replace",
        targetOf(id, rest),
        recorded,
        clock.now(),
      )
      return { value, said: [said], changes: [...ended, removalOf({ ...setup, id: setupId })] }
    }
    return open([{ id, prepare }])
  }

  function refuseExpired(expiresAt: string): void {
    if (Date.parse(expiresAt) <= clock.now())
      throw new LedgerError("token_expired", "this set-up token has expired; ask for another one")
  }
}

interface NewMember extends Pick<MemberDocument, "email" | "password" | "login"> {
  readonly name: string | undefined
  readonly workspace: string
}

function newMember({ name, workspace, ...known }: NewMember, nowMs: number): MemberDocument {
  return {
    ...known,
    ...(name === undefined ? {} : { name }),
    createdAt: isoTime(nowMs),
    workspaces: [workspace],
    sessions: [],
  }
}

function unknownSetup(): LedgerError {
  return new LedgerError("unauthorized", "the set-up token is unknown, or was used already")
}
