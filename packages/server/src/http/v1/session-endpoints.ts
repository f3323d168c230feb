// Signing in: set-up, password, session. The credential is in a cookie that pages cannot read.

import type * as wire from "@tallystick/client/wire"
import { LedgerError, usualError, type ErrorCode } from "../../error.ts"
import type { Role, Account } from "../../store/documents.ts"
import type { OpenedSession } from "../../workspace/open-session.ts"
import { instanceWorkspace } from "../../workspace/permissions.ts"
import { sessionCookie } from "../cookie.ts"
import { ok, type Answer } from "../endpoint.ts"
import type { Incoming } from "../incoming.ts"
import { endpoint, permitWriting, type Service, type ServiceEndpoint } from "../service.ts"
import { Login, PasswordChange, Session, Setup } from "../shapes/session.ts"

/** No credential is needed to sign in. */
const anyone = { action: "open", anonymous: true } as const
const member = { action: "account" } as const

export function sessionEndpoints(service: Service): readonly ServiceEndpoint[] {
  const cookie = sessionCookie(service.publicUrl)
  const bodyBytesMax = service.limits.signInBytesMax
  const lifeSeconds = Math.floor(service.limits.sessionLifeMs / 1000)
  const opened = async ({ members, token }: OpenedSession): Promise<Answer> => ({
    status: 200,
    body: await sessionJson(service, members),
    headers: { "set-cookie": cookie.set(token, lifeSeconds) },
  })
  return [
    endpoint({
      route: "POST /v1/setup",
      operation: "setUpAccount",
      summary: "Set up an account",
      description:
        "Sets up an account or accepts an invitation with a one-time token, and signs in. The session is a cookie.",
      refuses: ["login_failed", "not_found"],
      access: anyone,
      body: Setup,
      bodyBytesMax,
      answers: { 200: Session },
      async handle({ body, incoming }) {
        return opened(
          await attempt(service, incoming, body.token, () => service.accounts.setUp(body)),
        )
      },
    }),
    endpoint({
      route: "POST /v1/session",
      operation: "signIn",
      summary: "Sign in",
      description: "Checks an e-mail and a password, and sets the cookie of the session.",
      refuses: ["login_failed", "not_found"],
      access: anyone,
      body: Login,
      bodyBytesMax,
      answers: { 200: Session },
      async handle({ body: { email, password }, incoming }) {
        return opened(
          await attempt(service, incoming, email.toLowerCase(), () =>
            service.accounts.signIn(email, password),
          ),
        )
      },
    }),
    endpoint({
      route: "GET /v1/session",
      operation: "getSession",
      summary: "Get the session",
      description: "The signed-in member, and the member's workspaces.",
      refuses: ["not_found"],
      access: member,
      answers: { 200: Session },
      async handle({ caller }) {
        const { id, sessionId } = caller
        const accounts = await service.accounts.signedIn(sessionId)
        return ok(
          await sessionJson(
            service,
            accounts.toSorted((one, other) => Number(other.id === id) - Number(one.id === id)),
          ),
        )
      },
    }),
    endpoint({
      route: "DELETE /v1/session",
      operation: "signOut",
      summary: "Sign out",
      description: "Ends the session and clears its cookie. Without a session it does nothing.",
      refuses: ["not_found"],
      access: { action: "account", anonymous: true },
      answers: { 204: null },
      async handle({ caller }) {
        if (caller?.kind === "member") {
          permitWriting(service, instanceWorkspace)
          await service.accounts.signOut(caller)
        }
        return { status: 204, headers: { "set-cookie": cookie.clear() } }
      },
    }),
    endpoint({
      route: "POST /v1/session/password",
      operation: "changePassword",
      summary: "Change the password",
      description:
        "Changes the password of the signed-in member, and ends the member's other sessions.",
      refuses: ["login_failed", "not_found"],
      access: member,
      body: PasswordChange,
      bodyBytesMax,
      answers: { 204: null },
      async handle({ caller, body, incoming }) {
        await attempt(service, incoming, caller.id, () =>
          service.accounts.changePassword(caller, body.old, body.new),
        )
        return { status: 204 }
      },
    }),
  ]
}

/** The errors of a wrong guess. */
const wrong: readonly ErrorCode[] = ["login_failed", "unauthorized", "token_expired"]

/**
 * Limits the wrong passwords and set-up tokens of an address. Counts before the check, so that
 * concurrent attempts get no more guesses than sequential ones.
 */
async function attempt<T>(
  service: Service,
  { address, signal }: Incoming,
  name: string,
  act: () => Promise<T>,
): Promise<T> {
  permitWriting(service, instanceWorkspace)
  const { logins } = service.rates
  logins.take(address)
  try {
    const done = await service.signIns.run({ address, name, signal }, act)
    logins.giveBack(address)
    return done
  } catch (error) {
    if (error instanceof LedgerError && wrong.includes(error.code)) service.metrics.failedLogin()
    else logins.giveBack(address)
    throw error
  }
}

/** Shows the first of several accounts, and the workspaces of all of them together. */
async function sessionJson(
  { accounts }: Service,
  members: readonly Account[],
): Promise<wire.Session> {
  const [first] = members
  if (first === undefined) throw usualError("unauthorized")
  const { email, name } = first.value
  const roles = new Map<string, Role>()
  for (const { id, role } of (
    await Promise.all(members.map((member) => accounts.workspacesOf(member)))
  ).flat())
    if (role === "admin" || !roles.has(id)) roles.set(id, role)
  const instanceAdmin = roles.get(instanceWorkspace) === "admin"
  return {
    member: { id: first.id, email, ...(name === undefined ? {} : { name }), instanceAdmin },
    workspaces: [...roles].map(([id, role]) => ({ id, role })),
  }
}
