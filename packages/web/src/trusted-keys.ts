// The keys that the reader trusts, stored only in this browser.

import { parseVkey } from "@tallystick/proof"
import { attempt, keep, type Kept } from "./kept.ts"

export interface TrustedKey {
  readonly vkey: string
  readonly since: string
}

export const trustedKeys: Kept<readonly TrustedKey[]> = keep(
  "trusted keys",
  readTrustedKeys,
  JSON.stringify,
)

export function trustedVkeys(): readonly string[] {
  return trustedKeys.get().map(({ vkey }) => vkey)
}

export function trust(vkey: string): void {
  const others = trustedKeys.get().filter((key) => key.vkey !== vkey)
  trustedKeys.set([...others, { vkey, since: new Date().toISOString() }])
}

export function distrust(vkey: string): void {
  trustedKeys.set(trustedKeys.get().filter((key) => key.vkey !== vkey))
}

/** Ignores stored values that cannot be read. */
export function readTrustedKeys(text: string | null): readonly TrustedKey[] {
  const kept = attempt((): unknown => JSON.parse(text ?? "null"))
  if (!Array.isArray(kept)) return []
  return (kept as readonly unknown[]).flatMap((one) => {
    if (typeof one !== "object" || one === null) return []
    const { vkey, since } = one as Partial<Record<keyof TrustedKey, unknown>>
    return typeof vkey === "string" && isLogKey(vkey) && typeof since === "string"
      ? [{ vkey, since }]
      : []
  })
}

/** `<name>+<8 hex digits>+<base64>`, of a log and not of a witness. */
export function isLogKey(text: string): boolean {
  return parseVkey(text)?.type === "log"
}
