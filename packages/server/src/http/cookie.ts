// The session cookie, the only one of the service. It is parsed by hand: we need one name with a
// value of a known grammar. Everything that a general parser does beyond that (decoding, quotes,
// taking the last of two) could go wrong.

import { isLoopback } from "./framing.ts"

export interface SessionCookie {
  /** The token in a Cookie header. Undefined if there is none or more than one. */
  read(header: string | undefined): string | undefined
  /** The value of Set-Cookie. */
  set(token: string, lifeSeconds: number): string
  clear(): string
  /** Whether browsers send it only over HTTPS and to this machine. */
  readonly isSecure: boolean
}

/**
 * No other host and no plain connection can set a cookie with the prefix `__Host-`. Browsers accept
 * it over HTTPS, and from this machine.
 */
export function sessionCookie(publicUrl: string): SessionCookie {
  const { protocol, hostname } = new URL(publicUrl)
  const isSecure = protocol === "https:" || isLoopback(hostname)
  const name = isSecure ? "__Host-ts" : "ts"
  // Only spaces and tabs are blanks: with a no-break space before its name, a cookie that another
  // host of the domain has set would look like one with the prefix. A header of any form is read
  // once, whatever blanks it has.
  const pair = new RegExp(`(?:^|;)[\\t ]*${name}[\\t ]*=[\\t ]*([^;]*[^;\\t ])?[\\t ]*(?=;|$)`, "g")
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`
  return {
    isSecure,
    read(header) {
      const [first, second] = header === undefined ? [] : [...header.matchAll(pair)]
      return first === undefined || second !== undefined ? undefined : (first[1] ?? "")
    },
    set: (token, lifeSeconds) => `${name}=${token}; Max-Age=${lifeSeconds}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  }
}
