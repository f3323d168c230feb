// Finds and checks the caller before a body is read: the credential, then the workspace in the
// path, then the scope.

import type { IncomingHttpHeaders } from "node:http"
import { LedgerError, usualError } from "../error.ts"
import type { Admission, Place } from "../ledger/admission.ts"
import {
  instanceWorkspace,
  isForeign,
  type Access,
  type TokenType,
} from "../workspace/permissions.ts"
import { parseCredential } from "../workspace/credential-format.ts"
import { tokenLetters } from "../workspace/scoped-tokens.ts"
import { sessionCookie } from "./cookie.ts"
import type { Incoming } from "./incoming.ts"
import { networkOf } from "./rates.ts"
import { permit, type Caller, type Service } from "./service.ts"

type Guarding = Pick<
  Service,
  "authenticate" | "sessions" | "rates" | "signIns" | "publicUrl" | "uses"
>

type Guard = (incoming: Incoming, endpoint: { readonly access: Access }) => Promise<Caller>

export function guard(service: Guarding): Guard {
  const recognise = createRecognise(service)
  return async (incoming, endpoint) => {
    const caller = await recognise(incoming, endpoint)
    if (caller?.kind === "api-key") service.rates.keys?.take(caller.id)
    return caller
  }
}

/**
 * Recognises the caller without counting a request: the caller of an endless stream, or of a body
 * that was on its way, is checked again.
 */
export function createRecognise(service: Guarding): Guard {
  const { authenticate, rates, uses } = service
  const memberOf = memberReader(service)
  return async (incoming, { access }) => {
    const { headers, params, query } = incoming
    const bearer = bearerOf(headers.authorization)
    const text =
      access.queryToken === undefined ? bearer : oneOf(bearer, query["token"], access.queryToken)
    const caller = text === undefined ? await memberOf(incoming, access) : await authenticate(text)
    // A request that is refused below counts as a use too: it shows that somebody has the
    // credential.
    if (caller?.kind === "api-key" || caller?.kind === "token") uses.note(caller, incoming)
    const own = caller?.kind === "instance" ? instanceWorkspace : workspaceOf(caller)
    if (own !== undefined) incoming.recognised(own)
    const workspace = params["workspaceId"]
    if (access.anonymous !== true) permit(caller, access.action, workspace, access.tokens)
    else if (caller !== undefined && workspace !== undefined && isForeign(caller, workspace)) {
      // A browser sends its session with every request, so a session never makes a public resource
      // inaccessible.
      if (caller.kind !== "member" && access.foreignAsNone !== true)
        throw usualError("workspace_forbidden")
      if (access.unmetered !== true) rates.reads.take(incoming.address)
    }
    return caller
  }
}

/**
 * Admits a request with a body. The request counts against its workspace, or against the network of
 * a caller without one: anonymous, or a member who names none, such as with a new password.
 */
export function admit(
  admission: Admission,
): (
  caller: Caller,
  incoming: { readonly address: string },
  endpoint: { readonly access: Access },
) => Place {
  return (caller, incoming, { access }) => {
    const workspace = workspaceOf(caller)
    const isStranger = workspace === undefined && caller?.kind !== "instance"
    return admission.enter({
      name: isStranger ? networkOf(incoming.address) : (workspace ?? ""),
      isStranger,
      isWriter: access.action === "write",
    })
  }
}

/**
 * Whose turn a read of a workspace takes. Strangers have turns of their own: otherwise they could take
 * all of any workspace, or have turns for each invented name.
 */
export function turnOf(
  caller: Caller,
  workspaceId: string,
  { address }: { readonly address: string },
): string {
  if (caller !== undefined && !isForeign(caller, workspaceId)) return workspaceId
  return workspaceOf(caller) ?? `network ${networkOf(address)}`
}

/**
 * The workspace of a caller that belongs to exactly one, or that a member has named and belongs to:
 * otherwise a member could fill the queue of any workspace, or have a queue for each invented name.
 */
function workspaceOf(caller: Caller): string | undefined {
  const workspace = caller !== undefined && "workspace" in caller ? caller.workspace : undefined
  return caller === undefined || workspace === undefined || isForeign(caller, workspace)
    ? undefined
    : workspace
}

/**
 * For a request without a bearer token: the member whose session is in the cookie, or else an
 * anonymous caller, whose reads are counted.
 */
function memberReader(service: Guarding): (incoming: Incoming, access: Access) => Promise<Caller> {
  const { sessions, rates, signIns } = service
  const cookie = sessionCookie(service.publicUrl)
  return async (incoming, access) => {
    const { headers, params, method } = incoming
    const isSafe = method === "GET" || method === "HEAD"
    // Only programs write, with API keys, so a session is not read there.
    const token = access.action === "write" ? undefined : cookie.read(headers.cookie)
    const member =
      token === undefined ? undefined : await sessions.recognise(token, params["workspaceId"])
    if (member === undefined) {
      if (isSafe && access.anonymous === true && access.unmetered !== true)
        rates.reads.take(incoming.address)
    } else {
      signIns.know(incoming.address)
      if (!isSafe) refuseOtherSites(headers, service.publicUrl)
      else if (access.isRecorded && isFromAnotherSite(headers)) throw usualError("csrf_failed")
    }
    return member
  }
}

/**
 * A browser sends the cookie for every page. It names the page's site in a header that pages cannot
 * set.
 */
function refuseOtherSites(
  { "sec-fetch-site": site, origin }: IncomingHttpHeaders,
  publicUrl: string,
): void {
  const isOurs =
    site === undefined
      ? origin !== undefined && origin === new URL(publicUrl).origin
      : site === "same-origin"
  if (!isOurs) throw usualError("csrf_failed")
}

/** An old browser does not send the header. Otherwise, a person may have typed the address. */
function isFromAnotherSite({ "sec-fetch-site": site }: IncomingHttpHeaders): boolean {
  return site === "cross-site" || site === "same-site"
}

/**
 * The refusal for something that does not exist. Strangers and other workspaces get the same answer
 * as for something private.
 */
export function unknownResource(caller: Caller, workspaceId?: string): LedgerError {
  if (caller === undefined) return usualError("unauthorized")
  const isElsewhere = workspaceId !== undefined && isForeign(caller, workspaceId)
  return usualError(isElsewhere ? "workspace_forbidden" : "not_found")
}

/**
 * URLs are logged and shared, so a URL may contain only the token type of its endpoint, and no
 * credential that can do more.
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
  // The usual spelling.
  if (authorization.startsWith("Bearer ") && !authorization.includes(" ", bearerAt))
    return authorization.slice(bearerAt)
  const [, bearer] = /^bearer +([!-~]+) *$/i.exec(authorization) ?? []
  if (bearer === undefined)
    throw new LedgerError("unauthorized", "Authorization must be the word Bearer and a credential")
  return bearer
}
