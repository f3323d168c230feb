// The session cookie, the only one of the service. It is parsed by hand: we need one name with a
// value of a known grammar. Everything that a general parser does beyond that (decoding, quotes,
// taking the last of two) could go wrong.

import { isLoopback } from "./framing.ts"

/**
 * Not `trim`: that also removes a no-break space, and so would make a cookie that another host of
 * the domain has set look like one with the prefix.
 */
const blanksAround = /^[\t ]+|[\t ]+$/g

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
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`
  return {
    isSecure,
    read(header) {
      if (header === undefined) return undefined
      const values = header.split(";").flatMap((pair) => {
        const at = pair.indexOf("=")
        if (at < 0 || pair.slice(0, at).replaceAll(blanksAround, "") !== name) return []
        return [pair.slice(at + 1).replaceAll(blanksAround, "")]
      })
      return values.length === 1 ? values[0] : undefined
    },
    set: (token, lifeSeconds) => `${name}=${token}; Max-Age=${lifeSeconds}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  }
}
