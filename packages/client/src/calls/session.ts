import type { Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given } from "../given.ts"
import type { Login, PasswordChange, Session, Setup } from "../wire.ts"

/**
 * For the service's own pages: the session is a cookie, which the browser stores and sends. A
 * client with a key does not need it.
 */
export function sessionCalls(call: Call) {
  return {
    /** Accepts an invitation, or sets up the first member, and signs in. */
    setUp: (setup: Given<Setup>, options?: CallOptions): Promise<Session> =>
      call.post("/v1/setup", setup, options),

    signIn: (login: Given<Login>, options?: CallOptions): Promise<Session> =>
      call.post("/v1/session", login, options),

    get: (options?: CallOptions): Promise<Session> => call.get("/v1/session", {}, options),

    signOut: (options?: CallOptions): Promise<void> => call.delete("/v1/session", options),

    /** Ends the member's other sessions. */
    changePassword: (change: Given<PasswordChange>, options?: CallOptions): Promise<void> =>
      call.nothing({ method: "POST", path: "/v1/session/password", body: change }, options),
  }
}
