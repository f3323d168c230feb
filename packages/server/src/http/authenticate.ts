// Who is calling, decided before a body is read: the credential, then the workspace that the path
// names, then the scope.

import type { IncomingHttpHeaders } from "node:http"
import { LedgerError } from "../error.ts"
import type { Admission, Place } from "../ledger/admission.ts"
import { isForeign, type Access, type TokenType } from "../workspace/permissions.ts"
import { parseCredential } from "../workspace/credential-format.ts"
import { tokenLetters } from "../workspace/scoped-tokens.ts"
import { sessionCookie } from "./cookie.ts"
import type { Incoming } from "./incoming.ts"
import { networkOf } from "./rates.ts"
import { permit, sentences, type Caller, type Service } from "./service.ts"

type Guarding = Pick<Service, "authenticate" | "sessions" | "rates" | "signIns" | "publicUrl">

export function guard(
  service: Guarding,
): (incoming: Incoming, endpoint: { readonly access: Access }) => Promise<Caller> {
  const { authenticate, rates } = service
  const memberOf = memberReader(service)
  return async (incoming, { access }) => {
    const { headers, params, query } = incoming
    const bearer = bearerOf(headers.authorization)
    const text =
      access.queryToken === undefined ? bearer : oneOf(bearer, query["token"], access.queryToken)
    const caller = text === undefined ? await memberOf(incoming, access) : await authenticate(text)
    const workspace = params["workspaceId"]
    if (access.anonymous !== true) permit(caller, access.action, workspace, access.tokens)
    // A browser sends its session along with everything, so that does not close what is open to
    // anyone.
    else if (
      caller !== undefined &&
      caller.kind !== "member" &&
      workspace !== undefined &&
      isForeign(caller, workspace)
    ) {
      if (access.foreignAsNone !== true)
        throw new LedgerError("workspace_forbidden", sentences.workspace_forbidden)
      rates.reads.take(incoming.address)
    }
    if (caller?.kind === "api-key") rates.keys?.take(caller.id)
    return caller
  }
}

/** Admits a request with a body, in the name of its workspace or of its network. */
export function admit(
  admission: Admission,
): (
  caller: Caller,
  incoming: { readonly address: string },
  endpoint: { readonly access: Access },
) => Place {
  return (caller, { address }, { access }) => {
    const workspace = caller !== undefined && "workspace" in caller ? caller.workspace : undefined
    return admission.enter({
      name: caller === undefined ? networkOf(address) : (workspace ?? ""),
      isStranger: caller === undefined,
      isWriter: access.action === "write",
    })
  }
}

/**
 * Of a request without a bearer: the member whose session its cookie is, if it may be trusted;
 * otherwise it is anonymous, and counted.
 */
function memberReader(service: Guarding): (incoming: Incoming, access: Access) => Promise<Caller> {
  const { sessions, rates, signIns } = service
  const cookie = sessionCookie(service.publicUrl)
  return async (incoming, access) => {
    const { headers, params, method } = incoming
    const isSafe = method === "GET" || method === "HEAD"
    // Programs write, with keys of their own: there a session is not even looked at.
    const token = access.action === "write" ? undefined : cookie.read(headers.cookie)
    const member =
      token === undefined ? undefined : await sessions.recognise(token, params["workspaceId"])
    if (member === undefined) {
      if (isSafe && access.anonymous === true && access.unmetered !== true)
        rates.reads.take(incoming.address)
    } else {
      signIns.know(incoming.address)
      if (!isSafe) refuseOtherSites(headers, service.publicUrl)
    }
    return member
  }
}

/**
 * A browser sends the cookie whichever page asks. It says itself which one that was, in a header
 * that no page can set.
 */
function refuseOtherSites(
  { "sec-fetch-site": site, origin }: IncomingHttpHeaders,
  publicUrl: string,
): void {
  const isOurs =
    site === undefined
      ? origin !== undefined && origin === new URL(publicUrl).origin
      : site === "same-origin"
  if (!isOurs)
    throw new LedgerError(
      "csrf_failed",
      "a change with a session must come from the service's own pages, and say so in Sec-Fetch-Site or Origin",
    )
}

/**
 * What to say of a path that names nothing: to somebody unknown, or of another workspace, the same
 * as of something private.
 */
export function unknownResource(caller: Caller, workspaceId?: string): LedgerError {
  if (caller === undefined) return new LedgerError("unauthorized", sentences.unauthorized)
  return workspaceId !== undefined && isForeign(caller, workspaceId)
    ? new LedgerError("workspace_forbidden", sentences.workspace_forbidden)
    : new LedgerError("not_found", "there is no such thing, or not in your reach")
}

/**
 * Addresses are logged and shared, so one may hold the kind of token that its endpoint is for, and
 * nothing that opens more.
 */
function oneOf(
  bearer: string | undefined,
  token: string | undefined,
  type: TokenType,
): string | undefined {
  if (token === undefined) return bearer
  if (bearer !== undefined)
    throw new LedgerError(
      "ambiguous_credentials",
      "a bearer credential and the query parameter token were both given; give one of them",
    )
  if (parseCredential(token)?.kind === tokenLetters[type]) return token
  throw new LedgerError("unauthorized", `token must be a valid ${type} token`)
}

const bearerAt = "Bearer ".length

function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  // Almost everyone writes it so.
  if (authorization.startsWith("Bearer ") && !authorization.includes(" ", bearerAt))
    return authorization.slice(bearerAt)
  const [, bearer] = /^bearer +([!-~]+) *$/i.exec(authorization) ?? []
  if (bearer === undefined)
    throw new LedgerError("unauthorized", "Authorization must be the word Bearer and a credential")
  return bearer
}
