// Who is calling, decided before a body is read: the credential, then the workspace that the path names, then the scope.

import { LedgerError } from "../error.ts"
import type { Keys } from "../workspace/keys.ts"
import type { Incoming } from "./endpoint.ts"
import { permit, sentences, type Caller, type ServiceEndpoint } from "./service.ts"

export function guard(keys: Keys): (incoming: Incoming, endpoint: ServiceEndpoint) => Promise<Caller> {
  return async ({ headers, params }, { access }) => {
    const bearer = bearerOf(headers.authorization)
    const caller = bearer === undefined ? undefined : await keys.authenticate(bearer)
    const workspace = params["workspaceId"]
    if (access.anonymous !== true) permit(caller, access.action, workspace)
    else if (caller?.kind === "api-key" && workspace !== undefined && caller.workspace !== workspace) {
      throw new LedgerError("workspace_forbidden", sentences.workspace_forbidden)
    }
    return caller
  }
}

/** What to say of a path that names nothing: to somebody unknown the same as of something private. */
export function unknownResource(caller: Caller): LedgerError {
  return caller === undefined
    ? new LedgerError("unauthorized", sentences.unauthorized)
    : new LedgerError("not_found", "there is no such thing, or not in your reach")
}

const bearerAt = "Bearer ".length

function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  // Almost everyone writes it so.
  if (authorization.startsWith("Bearer ") && !authorization.includes(" ", bearerAt)) return authorization.slice(bearerAt)
  const [, bearer] = /^bearer +([!-~]+) *$/i.exec(authorization) ?? []
  if (bearer === undefined) throw new LedgerError("unauthorized", "Authorization must be the word Bearer and a credential")
  return bearer
}
