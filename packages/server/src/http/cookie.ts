// The one cookie that the service sets. It is read by hand: what is looked for is a single name
// with a value of a known grammar, and all that a general parser does beyond that (decoding,
// quotes, the last of two) would be something to be wrong about.

import { isLoopback } from "./framing.ts"

export interface SessionCookie {
  /** The session's token in a Cookie header; undefined if there is none, or more than one. */
  read(header: string | undefined): string | undefined
  /** Of Set-Cookie. */
  set(token: string, lifeSeconds: number): string
  clear(): string
  /** Whether browsers send it over protected connections alone. */
  readonly isSecure: boolean
}

/**
 * With the prefix `__Host-` no other host and no plain connection can set it. Browsers take it over
 * https, and from this machine.
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
        return at > 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : []
      })
      return values.length === 1 ? values[0] : undefined
    },
    set: (token, lifeSeconds) => `${name}=${token}; Max-Age=${lifeSeconds}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  }
}
